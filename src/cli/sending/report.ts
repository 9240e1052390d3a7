import type { BatchRetry } from '../../client/index.ts'
import {
  endpointName,
  formatDuration,
  type EndpointChange,
  type DeliveryLedger,
  type Ledger,
  type RequestRecord,
  type SettledDelivery,
  plainText,
  recordLine,
} from '../../model/index.ts'
import {
  lineLog,
  logFromEnvironment,
  silentLog,
  type Log,
  type Observer,
} from '../../runtime/index.ts'
import { DataWriter, type Io } from '../io.ts'
import { errorRecord, errorText } from '../output/error.ts'
import { formatCount } from '../output/numbers.ts'
import { startProgress } from '../output/progress.ts'
import { createStyle, wantsColor, type Style } from '../output/style.ts'
import { formatTimeOfDay } from '../output/time.ts'
import { summaryLine } from '../output/summary-line.ts'
import type { RowPlace } from './call-queue.ts'
import type { Plan } from './dry-outlet.ts'
import type { OutletLedger } from './outlet.ts'
import { planText } from './plan-text.ts'
import type { SendingOptions } from './sending-options.ts'
import { deliveryRecord, requestRecord, type EndedDelivery } from './sending-records.ts'

/** Lines about requests and deliveries that went wrong, before the summary stands for the rest. */
const problemLinesMax = 20
/** Lines about rejected rows: they are all that says which rows to mend. */
const rejectionLinesMax = 100

/**
 * The earliest that a delivery is tried again. The retry policy has it, of which nothing else is needed
 * here: all that delivers would be loaded for it.
 */
export const firstRetryMs = 8_000

/** Why a row was not taken. */
interface RowProblem {
  readonly code: string
  readonly message: string
}

/** What is shown, and how. */
export interface ReportOptions extends Pick<
  SendingOptions,
  'json' | 'quiet' | 'verbose' | 'color' | 'retryForMs'
> {
  /** Said once of what fails for now, in place of how long it is retried. */
  readonly retryNote?: string
}

/** What a command that moves events ends with. */
export interface Closing {
  /** The books; without rows where those are counted elsewhere. */
  readonly ledger: OutletLedger & DeliveryLedger & Partial<Ledger>
  /** How long it took, in milliseconds. */
  readonly durationMs: number
  /** Rows that were passed over; undefined where none can be. */
  readonly skipped: number | undefined
}

/** What a report is made of. */
interface ReportParts {
  readonly io: Io
  readonly options: ReportOptions
  readonly elapsedMs: () => number
  readonly style: Style
  readonly dataStyle: Style
}

/** Tells the user what happens while calls are sent: records on stdout, or lines on stderr. */
export class Report implements Observer {
  readonly #io: Io
  readonly #options: ReportOptions
  /** Of stderr. */
  readonly #style: Style
  readonly #dataStyle: Style
  readonly #elapsedMs: () => number
  readonly #stdout: DataWriter
  #endProgress = (): void => undefined
  #done = 0
  #failed = 0
  #problemLines = 0
  #rejectionLines = 0
  #lastProblem = ''
  #retriesAnnounced = false

  private constructor({ io, options, elapsedMs, style, dataStyle }: ReportParts) {
    this.#io = io
    this.#stdout = new DataWriter(io)
    this.#options = options
    this.#style = style
    this.#dataStyle = dataStyle
    this.#elapsedMs = elapsedMs
  }

  /**
   * Gets ready to tell.
   *
   * @param elapsedMs - the time since the command began
   */
  static async open(io: Io, options: ReportOptions, elapsedMs: () => number): Promise<Report> {
    const { color } = options
    const style = await createStyle(wantsColor(io, io.stderr, color))
    const dataStyle = await createStyle(wantsColor(io, io.stdout, color))
    return new Report({ io, options, elapsedMs, style, dataStyle })
  }

  /**
   * Shows progress from now on, until the summary or `close`.
   *
   * @param text - what is shown; how many rows have come to their end by default
   */
  begin(text = (): string => this.#progressText()): void {
    if (this.#options.quiet) return
    const color = wantsColor(this.#io, this.#io.stderr, this.#options.color)
    this.#endProgress = startProgress(this.#io, text, color)
  }

  /** Where rooms say what they do: on stderr, details as DEBUG asks, warnings but for `--quiet`. */
  get log(): Log {
    const { debug, info } = logFromEnvironment({ ...this.#io.env })
    if (this.#options.quiet) return { debug, info, warn: silentLog.warn }
    const { warn } = lineLog((line) => this.#line(line))
    return {
      debug,
      info,
      warn: (message, fields) => {
        // A timeout has a line of its own, as every request that did not succeed.
        if (fields?.['code'] !== 'timeout') warn(message, fields)
      },
    }
  }

  request(record: RequestRecord): void {
    const { outcome, error, url } = record
    if (outcome !== 'success') this.#lastProblem = `${error ?? ''} from ${endpointName(url)}`
    if (this.#options.json) {
      this.#record(requestRecord(record))
    } else if (this.#options.verbose) {
      this.#line(`${this.#requestText(record)}\n`)
    } else if (outcome !== 'success') {
      this.#problem(this.#requestText(record))
      // What we cut off ourselves, because we end, is not tried again.
      if (outcome === 'retry' && error !== 'interrupted') this.#announceRetries(error)
    }
  }

  settled(delivery: SettledDelivery): void {
    this.#settled(delivery, '')
  }

  endpoint({ url, probeAtMs, error }: EndpointChange): void {
    if (this.#options.json) return
    const name = endpointName(url)
    const text =
      probeAtMs === null
        ? `${name} answers again`
        : `${name} is left alone until ${formatTimeOfDay(probeAtMs)}: ${error ?? ''}; what waits for it is parked`
    this.#problem(text)
  }

  /** A service will not get a row; the message says why. */
  failed(delivery: EndedDelivery, message: string): void {
    this.#settled(delivery, ` (${plainText(message)})`)
  }

  /** A batch for a service is tried again. */
  retrying({ callCount, attempt, delayMs, reason }: BatchRetry): void {
    this.#lastProblem = reason
    if (this.#options.json) return
    const calls = callCount === 1 ? '1 call' : `${formatCount(callCount)} calls`
    const next = `tried again in ${formatDuration(Math.round(delayMs))}`
    this.#problem(`attempt ${attempt} for a batch of ${calls}: ${plainText(reason)}; ${next}`)
  }

  /** A row that was not taken. */
  rejected({ file, line }: RowPlace, { code, message }: RowProblem): void {
    const { json, quiet, verbose } = this.#options
    if (json) {
      this.#record({
        kind: 'rejected',
        ...(file === undefined ? {} : { file }),
        line,
        code,
        message,
      })
    } else if (!quiet) {
      this.#rejectionLines++
      if (this.#rejectionLines > rejectionLinesMax && !verbose) return
      const place = file === undefined ? `line ${line}` : `${plainText(file)} line ${line}`
      this.#line(`${place}: ${plainText(message)} (${code})\n`)
    }
  }

  /** An error that ends the transfer early; the summary is still to come. */
  failure(error: unknown): void {
    const { json } = this.#options
    this.#io.stderr.write(json ? errorRecord(error) : errorText(error, this.#style))
  }

  /** A service took a row. */
  acknowledged(): void {
    this.#done++
  }

  /** What would be sent, where nothing is: data, for a program or for a person. */
  planned(plan: Plan): void {
    this.#done++
    if (!this.#options.json) {
      if (!this.#options.quiet) this.#stdout.write(planText(plan, this.#dataStyle))
      return
    }
    const { messageId, type, decision, urls, body, signature } = plan
    const { send = true, reason = null, hint = null } = decision ?? {}
    this.#record({ kind: 'plan', messageId, type, send, reason, hint, urls, body, signature })
  }

  /** The last word: counts that balance. */
  summary({ ledger, durationMs, skipped }: Closing): void {
    this.#endProgress()
    if (this.#options.json) {
      const passedOver = skipped === undefined ? {} : { skipped }
      this.#record({ kind: 'summary', ...ledger, ...passedOver, ms: Math.round(durationMs) })
      return
    }
    if (!this.#options.quiet) this.#notesOnWhatIsNotShown(skipped ?? 0)
    this.#io.stderr.write(summaryLine(ledger, durationMs, this.#style))
  }

  /** Text for a person on stderr, whatever the flags. */
  note(text: string): void {
    this.#io.stderr.write(`${text}\n`)
  }

  /** Resolves once whoever reads stdout has caught up. */
  async ready(): Promise<void> {
    await this.#stdout.ready()
  }

  /** Takes the progress line away. */
  close(): void {
    this.#endProgress()
  }

  #record(record: Readonly<Record<string, unknown>>): void {
    this.#stdout.write(recordLine(record))
  }

  #settled(delivery: EndedDelivery, explanation: string): void {
    const { messageId, type, state, attempts, reason } = delivery
    this.#done++
    if (state !== 'delivered') this.#failed++
    if (this.#options.json) {
      this.#record(deliveryRecord(delivery))
    } else if (state !== 'delivered') {
      const tries = attempts === 1 ? '1 attempt' : `${attempts} attempts`
      const outcome = `${state} after ${tries}: ${reason ?? ''}${explanation}`
      this.#problem(`${type} ${plainText(messageId)} ${outcome}`)
    }
  }

  #notesOnWhatIsNotShown(skipped: number): void {
    const { verbose } = this.#options
    const rejections = this.#rejectionLines - rejectionLinesMax
    if (rejections > 0 && !verbose) {
      const rows =
        rejections === 1 ? '1 more rejected row' : `${formatCount(rejections)} more rejected rows`
      this.note(`... and ${rows}; --dry-run --json has them all`)
    }
    const problems = this.#problemLines - problemLinesMax
    if (problems > 0 && !verbose) {
      const lines = problems === 1 ? '1 more line' : `${formatCount(problems)} more lines`
      this.note(`... and ${lines}; --json has them all`)
    }
    if (skipped > 0) {
      this.note(
        skipped === 1 ? '1 row was not selected' : `${formatCount(skipped)} rows were not selected`,
      )
    }
  }

  #problem(text: string): void {
    if (this.#options.quiet) return
    this.#problemLines++
    if (this.#problemLines <= problemLinesMax || this.#options.verbose) this.#line(`${text}\n`)
  }

  /** Says once that what fails for now is not given up: the next line may take a while. */
  #announceRetries(error: string | null): void {
    const { quiet, retryForMs, retryNote } = this.#options
    if (this.#retriesAnnounced || quiet || retryForMs < firstRetryMs) return
    this.#retriesAnnounced = true
    const cause =
      error === 'ECONNREFUSED' ? 'Nothing listens there; is `evroute listen` running? ' : ''
    const how = retryNote ?? `It is tried again for ${formatDuration(retryForMs)}; see --retry-for`
    this.#line(`${this.#style.faint(`  └ ${cause}${how}`)}\n`)
  }

  #line(line: string): void {
    if (this.#options.json && !this.#options.verbose) return
    this.#io.stderr.write(line)
  }

  #requestText(record: RequestRecord): string {
    const { messageId, url, attempt, outcome, error, status, durationMs, atMs } = record
    const look = { success: 'good', retry: 'warning', final: 'bad' } as const
    const answer = this.#style[look[outcome]](error ?? String(status))
    const time = this.#style.faint(formatTimeOfDay(atMs))
    const end = this.#style.faint(`${formatDuration(durationMs)}  ${plainText(messageId)}`)
    return `${time}  attempt ${attempt}  ${answer}  ${endpointName(url)}  ${end}`
  }

  #progressText(): string {
    const rate = Math.round(this.#done / (this.#elapsedMs() / 1_000))
    const parts = [`${formatCount(this.#done)} done`, `${formatCount(rate)}/s`]
    if (this.#failed > 0) parts.push(`${formatCount(this.#failed)} not delivered`)
    if (this.#lastProblem !== '') parts.push(`last problem: ${this.#lastProblem}`)
    return parts.join(' · ')
  }
}
