import { parseDuration } from '../model/index.ts'
import { atLeastOnce, expectationOf, type CountRange, type Expectation } from './expectation.ts'
import { matchLimits } from './limits.ts'
import type { Term } from './match.ts'
import { addTerm, isSuffix, matchOfTerms, scan } from './parse-match.ts'
import type { Scanner } from './scanner.ts'

/**
 * Reads an expectation: a match as in `parseMatch`, then optionally a count and a time, in any order.
 *
 * - no count: at least once
 * - `x3`: exactly three times. A fourth request is a mistake that tests look for; to accept more, write `x3..`
 * - `x3..`: at least three times; `x1..5`: once to five times, ends included
 * - `never`: not once; `x0` is the same
 * - `within 2s`: only requests in the first two seconds of the wait count
 *
 * An expectation with a maximum count, including `never`, is met only at the end of the wait or of its `within`,
 * because another request can arrive until then. If too many requests arrive, it fails at once.
 *
 * @throws MatchError with the wrong characters and the accepted ones
 */
export function parseExpectation(text: string): Expectation {
  const scanner = scan(text)
  const terms: Term[] = []
  const suffixes: Suffixes = { count: undefined, withinMs: undefined }
  while (scanner.skipGap()) {
    if (isSuffix(scanner.rest)) readSuffix(scanner, suffixes)
    else if (suffixes.count === undefined && suffixes.withinMs === undefined) {
      addTerm(terms, scanner)
    } else failBehindSuffix(scanner)
  }
  const match = matchOfTerms(terms, scanner)
  return expectationOf(match, suffixes.count ?? atLeastOnce, suffixes.withinMs)
}

interface Suffixes {
  count: CountRange | undefined
  withinMs: number | undefined
}

function readSuffix(scanner: Scanner, suffixes: Suffixes): void {
  const word = scanner.rest
  const place = { offset: scanner.at, length: word.length }
  if ((word === 'within' ? suffixes.withinMs : suffixes.count) !== undefined) {
    scanner.fail(place, 'this is said twice', 'Leave one of them out.')
  }
  scanner.take(word)
  if (word === 'within') suffixes.withinMs = readDuration(scanner)
  else {
    suffixes.count =
      countOf(word) ??
      scanner.fail(
        place,
        'this is not a count',
        'Write x3 for exactly three, x3.. for at least three, x1..5, or never; or put the word in quotes.',
      )
  }
}

function readDuration(scanner: Scanner): number {
  scanner.skipGap()
  const word = scanner.rest
  const place = { offset: scanner.at, length: word.length }
  scanner.take(word)
  const durationMs = parseDuration(word)
  if (durationMs !== undefined && durationMs > 0) return durationMs
  return scanner.fail(
    place,
    'within needs a duration',
    'Write for example within 2s or within 500ms.',
  )
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

function failBehindSuffix(scanner: Scanner): never {
  return scanner.fail(
    { offset: scanner.at, length: scanner.rest.length },
    'the count and the time come last',
    'Write the match before them.',
  )
}
