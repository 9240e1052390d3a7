import type { Expectation, ExpectationResult } from '../../match/index.ts'
import { recordLine } from '../../model/index.ts'
import { stopwatch } from '../../runtime/index.ts'
import { exitCodes, gravest, type ExitCode } from '../exit-code.ts'
import { stoppable, writeData, type Io } from '../io.ts'
import { askReceiver } from './ask-receiver.ts'
import { captureResults, type CaptureResults } from './capture-results.ts'
import type { ReportFile } from './report-flag.ts'
import { resultRecord, tellResults } from './tell-results.ts'

/** Where to look for events. */
export type ExpectPlace =
  | { readonly kind: 'api'; readonly url: string }
  | { readonly kind: 'capture'; readonly path: string }

/** The checked options of `evroute expect`. */
export interface ExpectCommandOptions {
  readonly expectations: readonly Expectation[]
  readonly place: ExpectPlace
  /** Skip events up to this `seq`. */
  readonly after: number
  /** How long a receiver waits, in milliseconds; undefined for its default. */
  readonly timeoutMs: number | undefined
  /** The report files to write. */
  readonly reports: readonly ReportFile[]
  /** NDJSON on stdout. */
  readonly json: boolean
  /** Print nothing about expectations that were met. */
  readonly quiet: boolean
  /** False with `--no-color`. */
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
  const code = await tellResults(results, told, io)
  return gravest([code, badRows > 0 ? exitCodes.badInput : exitCodes.ok])
}

async function resultsOf(options: ExpectCommandOptions, io: Io): Promise<CaptureResults> {
  const { place, expectations, after, timeoutMs } = options
  if (place.kind === 'capture') {
    return captureResults({ path: place.path, after }, expectations, io)
  }
  const question = { api: place.url, after, timeoutMs, stop: io.stop }
  const asking = expectations.map((expectation) => askReceiver(expectation, question))
  return { results: await Promise.all(asking), badRows: 0 }
}

function recordsOf(results: readonly ExpectationResult[]): string {
  return results
    .map((result) => recordLine({ kind: 'expectation', ...resultRecord(result) }))
    .join('')
}
