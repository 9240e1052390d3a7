import { openInput, readRows, type Row } from '../../importer/index.ts'
import {
  expectationResult,
  ExpectationTracker,
  type Expectation,
  type ExpectationResult,
  type NumberedSubject,
} from '../../match/index.ts'
import { captureRowBytesMax, plainText, shortText } from '../../model/index.ts'
import type { Io } from '../io.ts'
import { isListenRecord } from '../sending/captured-request.ts'
import { formatCount } from '../output/numbers.ts'
import { tellOfTerminalInput } from '../terminal-input.ts'
import { readEventRecord } from '../../receiver/index.ts'

/** What a capture says about expectations. */
export interface CaptureResults {
  /** What became of them, in their order. */
  readonly results: readonly ExpectationResult[]
  /** Rows that are no records of `listen`; what they were is not counted. */
  readonly badRows: number
}

/**
 * Judges expectations by what was captured. The wait begins with the first event that is looked at, and
 * ends with the file.
 *
 * @param after - events up to this `seq` are passed over
 * @throws EvrouteError `cannot_read_file`
 */
export async function captureResults(
  { path, after }: { readonly path: string; readonly after: number },
  expectations: readonly Expectation[],
  io: Io,
): Promise<CaptureResults> {
  tellOfTerminalInput([path], io)
  let trackers: readonly ExpectationTracker<NumberedSubject>[] | undefined
  const begin = (nowMs: number): typeof trackers & object =>
    expectations.map((expectation) => new ExpectationTracker(expectation, nowMs))
  let badRows = 0
  for await (const rows of readRows(await openInput(path, io.stdin), captureRowBytesMax)) {
    for (const row of rows) {
      const event = eventOf(row)
      if (event === undefined) continue
      if (typeof event === 'string') {
        badRows += 1
        if (badRows <= badRowLinesMax) io.stderr.write(badRowLine(row, path, event))
        continue
      }
      if (event.seq <= after) continue
      trackers ??= begin(event.atMs)
      for (const tracker of trackers) tracker.observe(event)
    }
  }
  if (badRows > badRowLinesMax) {
    io.stderr.write(`... and ${formatCount(badRows - badRowLinesMax)} more\n`)
  }
  return { results: (trackers ?? begin(0)).map(expectationResult), badRows }
}

/** Bad rows that have a line of their own; the rest is counted. */
const badRowLinesMax = 10

/** Parsers quote the row in their messages. */
const problemCharactersMax = 120

function badRowLine({ line }: Row, path: string, problem: string): string {
  const shown = shortText(problem, problemCharactersMax)
  return `Line ${line} of ${plainText(path)} is not counted: ${shown}\n`
}

/** The event that a row tells of, or what is wrong with it; undefined for other records of `listen`. */
function eventOf(row: Row): NumberedSubject | string | undefined {
  if (row.kind === 'bad') return row.message
  const problem = 'it is no record of listen'
  if (!isListenRecord(row.value)) return problem
  return row.value['kind'] === 'event' ? (readEventRecord(row.value) ?? problem) : undefined
}
