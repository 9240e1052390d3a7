import { openInput, readRows, type Row } from '../../importer/index.ts'
import {
  expectationResult,
  ExpectationTracker,
  type Expectation,
  type ExpectationResult,
  type NumberedSubject,
} from '../../match/index.ts'
import { captureRowBytesMax, plainText, shortText } from '../../model/index.ts'
import { readEventRecord } from '../../receiver/index.ts'
import { tellOfTerminalInput } from '../input.ts'
import type { Io } from '../io.ts'
import { formatCount } from '../output/numbers.ts'
import { isListenRecord } from '../sending/captured-request.ts'

/** The results of expectations over a capture. */
export interface CaptureResults {
  /** One result per expectation, in order. */
  readonly results: readonly ExpectationResult[]
  /** Rows that are not records of `listen`. They are not counted. */
  readonly badRows: number
}

/**
 * Checks expectations against a capture. The time windows start at the first event that counts and end with
 * the file.
 *
 * @param after - skip events up to this `seq`
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

/** Bad rows that get their own line; the rest is only counted. */
const badRowLinesMax = 10

/** Parsers quote the row in their messages. */
const problemCharactersMax = 120

function badRowLine({ line }: Row, path: string, problem: string): string {
  const shown = shortText(problem, problemCharactersMax)
  return `Line ${line} of ${plainText(path)} is not counted: ${shown}\n`
}

/** The event in a row, or a message that says why there is none; undefined for other records of `listen`. */
function eventOf(row: Row): NumberedSubject | string | undefined {
  if (row.kind === 'bad') return row.message
  const problem = 'it is no record of listen'
  if (!isListenRecord(row.value)) return problem
  return row.value['kind'] === 'event' ? (readEventRecord(row.value) ?? problem) : undefined
}
