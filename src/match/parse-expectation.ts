import { parseDuration } from '../model/index.ts'
import { atLeastOnce, expectationOf, type CountRange, type Expectation } from './expectation.ts'
import { matchLimits } from './match.ts'
import { readMatch } from './parse-match.ts'
import type { Scanner } from './scanner.ts'

/**
 * Reads an expectation: a match as in `parseMatch`, then an optional count and an optional time, in either order.
 *
 * - no count: at least once
 * - `x3`: exactly three times
 * - `x3..`: at least three times; `x1..5`: one to five times
 * - `never`: not once; `x0` means the same
 * - `within 2s`: only requests in the first two seconds of the wait count
 *
 * An expectation with a maximum, such as `x3` or `never`, is met only when the wait or its `within` ends, because one
 * more request may arrive until then. It fails as soon as too many requests have arrived.
 *
 * @throws MatchError with the wrong characters and what is accepted there
 */
export function parseExpectation(text: string): Expectation {
  const suffixes: Suffixes = { count: undefined, withinMs: undefined }
  const match = readMatch(text, {
    readSuffix: (scanner) => readSuffix(scanner, suffixes),
    check: (_term, offset, scanner) => {
      if (suffixes.count === undefined && suffixes.withinMs === undefined) return
      scanner.fail(
        { offset, length: scanner.at - offset },
        'the count and the time must come last',
        'Write the match before them.',
      )
    },
  })
  return expectationOf(match, suffixes.count ?? atLeastOnce, suffixes.withinMs)
}

interface Suffixes {
  count: CountRange | undefined
  withinMs: number | undefined
}

function readSuffix(scanner: Scanner, suffixes: Suffixes): void {
  const word = scanner.takeWord()
  const isTime = word.text === 'within'
  if ((isTime ? suffixes.withinMs : suffixes.count) !== undefined) {
    scanner.fail(word, 'this is given twice', 'Remove one of them.')
  }
  if (isTime) suffixes.withinMs = readDuration(scanner)
  else {
    suffixes.count =
      countOf(word.text) ??
      scanner.fail(
        word,
        'this is not a count',
        'Write x3 for exactly three, x3.. for at least three, x1..5 for one to five, or never. To search for this word itself, put it in quotes.',
      )
  }
}

function readDuration(scanner: Scanner): number {
  scanner.skipGap()
  const word = scanner.takeWord()
  const durationMs = parseDuration(word.text)
  if (durationMs !== undefined && durationMs > 0) return durationMs
  const advice = 'Add one, such as within 2s or within 500ms.'
  return scanner.fail(word, '"within" needs a duration', advice)
}

function countOf(word: string): CountRange | undefined {
  if (word === 'never') return { atLeast: 0, atMost: 0 }
  const [, low, dots, high] = /^x(\d{1,10})(?:(\.\.)(\d{0,10}))?$/.exec(word) ?? []
  if (low === undefined) return undefined
  const atLeast = Number(low)
  const atMost = dots === undefined ? atLeast : high === '' ? Infinity : Number(high)
  const isLow = atLeast <= matchLimits.countMax && (atMost <= matchLimits.countMax || high === '')
  return atLeast <= atMost && isLow ? { atLeast, atMost } : undefined
}
