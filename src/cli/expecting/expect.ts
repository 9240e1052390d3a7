import type { Expectation, ExpectationResult } from '../../match/index.ts'
import { recordLine } from '../../model/index.ts'
import { stopwatch } from '../../runtime/index.ts'
import { exitCodes, gravest, type ExitCode } from '../exit-code.ts'
import { stoppable, writeData, type Io } from '../io.ts'
import { askReceiver } from './ask-receiver.ts'
import { captureResults, type CaptureResults } from './capture-results.ts'
import type { ReportFile } from './report-flag.ts'
import { resultRecord, reportResults } from './report-results.ts'

/** Where to look for events. */
export type ExpectSource =
  | { readonly kind: 'api'; readonly url: string }
  | { readonly kind: 'capture'; readonly path: string }

/** The checked options of `evroute expect`. */
export interface ExpectCommandOptions {
  readonly expectations: readonly Expectation[]
  readonly source: ExpectSource
  /** Skip events up to this `seq`. */
  readonly after: number
  /** Admits this machine to a receiver on another one. */
  readonly token: string | undefined
  /** How long a receiver waits, in milliseconds; undefined for its default. */
  readonly timeoutMs: number | undefined
  readonly reports: readonly ReportFile[]
  readonly json: boolean
  readonly quiet: boolean
  readonly color: boolean
}

/** Checks expectations against a running receiver or a capture, and reports the results. */
export async function expect(options: ExpectCommandOptions, io: Io): Promise<ExitCode> {
  const elapsedMs = stopwatch()
  const looking = resultsOf(options, io)
  // If the command ends early, nobody handles a later rejection of this promise.
  looking.catch(() => undefined)
  const found = await stoppable(looking, io.stop)
  if (found === undefined) return exitCodes.interrupted
  const { results, badRows } = found
  if (options.json) await writeData(io, recordsOf(results))
  const told = { ...options, title: 'evroute expect', durationMs: elapsedMs() }
  const code = await reportResults(results, told, io)
  return gravest([code, badRows > 0 ? exitCodes.badInput : exitCodes.ok])
}

async function resultsOf(options: ExpectCommandOptions, io: Io): Promise<CaptureResults> {
  const { source, expectations, after, timeoutMs, token } = options
  if (source.kind === 'capture') {
    return captureResults({ path: source.path, after }, expectations, io)
  }
  const question = { api: source.url, after, timeoutMs, token, stop: io.stop }
  const asking = expectations.map((expectation) => askReceiver(expectation, question))
  return { results: await Promise.all(asking), badRows: 0 }
}

function recordsOf(results: readonly ExpectationResult[]): string {
  return results
    .map((result) => recordLine({ kind: 'expectation', ...resultRecord(result) }))
    .join('')
}
