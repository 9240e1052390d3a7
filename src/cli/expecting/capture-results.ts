import { openInput } from '../../importer/index.ts'
import {
  expectationResult,
  ExpectationTracker,
  type Expectation,
  type ExpectationResult,
  type NumberedSubject,
} from '../../match/index.ts'
import { plainText, shortText } from '../../model/index.ts'
import { readCapture } from '../../receiver/index.ts'
import { tellOfTerminalInput } from '../input.ts'
import type { Io } from '../io.ts'
import { formatCount } from '../output/numbers.ts'

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
  for await (const part of readCapture(await openInput(path, io.stdin))) {
    for (const { line, problem } of part.badRows) {
      badRows += 1
      if (badRows > badRowLinesMax) continue
      const shown = shortText(problem, problemCharactersMax)
      io.stderr.write(`Line ${line} of ${plainText(path)} is not counted: ${shown}\n`)
    }
    for (const event of part.events) {
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
