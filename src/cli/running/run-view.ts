import { formatDuration } from '../../model/index.ts'
import { SummaryMemory, type ReceivedCounts, type ReceivedEvent } from '../../receiver/index.ts'
import type { Io } from '../io.ts'
import { countsText, eventText } from '../listening/event-text.ts'
import { inspectorUrl } from '../listening/inspector-page.ts'
import { formatCount } from '../output/numbers.ts'
import { styleOf, type Style } from '../output/style.ts'
import type { CommandEnvironment } from './test-bed.ts'

/** What `run` prints. */
export interface RunViewOptions {
  readonly page: boolean
  /** Only expectations that were not met. */
  readonly quiet: boolean
  readonly verbose: boolean
  readonly color: boolean
}

/** Reports a run on stderr: stdout belongs to the command. */
export class RunView {
  readonly #options: RunViewOptions
  readonly #io: Io
  readonly #style: Style
  readonly #memory = new SummaryMemory()

  private constructor(options: RunViewOptions, io: Io, style: Style) {
    this.#options = options
    this.#io = io
    this.#style = style
  }

  /** Opens the view, with the colours that stderr can show. */
  static async open(options: RunViewOptions, io: Io): Promise<RunView> {
    return new RunView(options, io, await styleOf(io, 'stderr', options.color))
  }

  /** Prints the addresses that the command finds in its environment, without secrets. */
  ready({ EVROUTE_URL, EVROUTE_ENDPOINT }: CommandEnvironment): void {
    if (this.#options.quiet) return
    this.#tell(`Receiver  ${EVROUTE_URL}  ${this.#style.faint('EVROUTE_URL, EVROUTE_SECRET')}`)
    if (this.#options.page) this.#tell(`Page      ${inspectorUrl(EVROUTE_URL) ?? ''}`)
    if (EVROUTE_ENDPOINT === undefined) return
    const names = this.#style.faint('EVROUTE_ENDPOINT, EVROUTE_WRITE_KEY')
    this.#tell(`Service   ${EVROUTE_ENDPOINT}  ${names}`)
  }

  /** Prints a request. */
  event(event: ReceivedEvent): void {
    if (!this.#options.verbose) return
    const { columns } = this.#io.stderr
    const [style, memory] = [this.#style, this.#memory]
    this.#io.stderr.write(eventText(event, { style, memory, verbose: false, columns }))
  }

  /** Prints the summary. */
  summary(counts: ReceivedCounts, durationMs: number): void {
    if (this.#options.quiet) return
    this.#tell(`${countsText(counts)} in ${formatDuration(durationMs)}`)
  }

  /** Prints that the run failed and the page stays. */
  held(url: string): void {
    this.#tell(`Page      ${inspectorUrl(url) ?? ''}  shows what arrived. Ctrl-C ends it.`)
  }

  /** Prints the number of pending deliveries. */
  pending(count: number): void {
    if (count > 0 && !this.#options.quiet)
      this.#tell(`Deliveries still pending: ${formatCount(count)}`)
  }

  #tell(text: string): void {
    this.#io.stderr.write(`${text}\n`)
  }
}
