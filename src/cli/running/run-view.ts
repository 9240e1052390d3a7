import { formatDuration } from '../../model/index.ts'
import { SummaryMemory, type ReceivedCounts, type ReceivedEvent } from '../../receiver/index.ts'
import type { RunValues } from '../commands/run.ts'
import type { Io } from '../io.ts'
import { countsText, eventText } from '../listening/event-text.ts'
import { inspectorUrl } from '../listening/inspector-page.ts'
import { programName } from '../output/command-line.ts'
import { formatCount } from '../output/numbers.ts'
import { styleOf } from '../output/style.ts'
import type { CommandEnvironment } from './test-bed.ts'

/** Which lines `run` prints. */
export type RunViewOptions = Pick<RunValues, 'page' | 'quiet' | 'verbose' | 'color'>

/** Reports a run on stderr, because stdout belongs to the command. */
export type RunView = Awaited<ReturnType<typeof openRunView>>

/** Opens the view of a run. Secrets never appear in it. */
export async function openRunView({ page, quiet, verbose, color }: RunViewOptions, io: Io) {
  const style = await styleOf(io, 'stderr', color)
  const memory = new SummaryMemory()
  const program = programName(io)
  const tell = (text: string): void => void io.stderr.write(`${text}\n`)
  return {
    /** Prints the addresses that are in the command's environment. */
    ready: ({ EVROUTE_URL, EVROUTE_ENDPOINT }: CommandEnvironment): void => {
      if (quiet) return
      tell(`Receiver  ${EVROUTE_URL}  ${style.faint('EVROUTE_URL, EVROUTE_SECRET')}`)
      if (page) tell(`Page      ${inspectorUrl(EVROUTE_URL) ?? ''}`)
      if (EVROUTE_ENDPOINT === undefined) return
      tell(`Service   ${EVROUTE_ENDPOINT}  ${style.faint('EVROUTE_ENDPOINT, EVROUTE_WRITE_KEY')}`)
    },
    /** Shows a request that arrived. */
    event: (event: ReceivedEvent): void => {
      if (!verbose) return
      const { columns } = io.stderr
      io.stderr.write(eventText(event, { style, memory, verbose: false, columns, program }))
    },
    /** Shows the result of the run. */
    summary: (counts: ReceivedCounts, durationMs: number): void => {
      if (!quiet) tell(`${countsText(counts)} in ${formatDuration(durationMs)}`)
    },
    /** Prints the URL of the page, which stays open after a failed run. */
    held: (url: string): void =>
      tell(`Page      ${inspectorUrl(url) ?? ''}  shows what arrived. Ctrl-C ends it.`),
    /** Shows what is still awaited. */
    pending: (count: number): void => {
      if (count > 0 && !quiet) tell(`Deliveries still pending: ${formatCount(count)}`)
    },
  }
}
