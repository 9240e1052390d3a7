import type { Match } from './match.ts'

/** How many requests must match; 0 for no minimum, Infinity for no maximum. */
export interface CountRange {
  readonly atLeast: number
  readonly atMost: number
}

/** A match, and how many requests must satisfy it. */
export interface Expectation {
  readonly match: Match
  readonly count: CountRange
  /** Time limit, from the beginning of the wait; undefined for none. Later requests are not counted. */
  readonly withinMs: number | undefined
  readonly text: string
}

/** The count of an expectation whose text has no count. */
export const atLeastOnce: CountRange = Object.freeze({ atLeast: 1, atMost: Infinity })

/** Makes an expectation, and writes its text, such as `type:track x3 within 2s`. */
export function expectationOf(
  match: Match,
  count: CountRange = atLeastOnce,
  withinMs?: number,
): Expectation {
  const suffixes = [suffixText(count), ...(withinMs === undefined ? [] : [withinText(withinMs)])]
  const text = [match.text, ...suffixes].filter((part) => part !== '').join(' ')
  return { match, count, withinMs, text }
}

/** Formats a count: `exactly 3`, `at least 1`, `1 to 5`, `none`. */
export function countText({ atLeast, atMost }: CountRange): string {
  if (atMost === 0) return 'none'
  if (atLeast === atMost) return `exactly ${atLeast}`
  if (atMost === Infinity) return `at least ${atLeast}`
  return atLeast === 0 ? `at most ${atMost}` : `${atLeast} to ${atMost}`
}

function suffixText({ atLeast, atMost }: CountRange): string {
  if (atMost === 0) return 'never'
  if (atLeast === atMost) return `x${atLeast}`
  if (atMost === Infinity) return atLeast === 1 ? '' : `x${atLeast}..`
  return `x${atLeast}..${atMost}`
}

function withinText(withinMs: number): string {
  return withinMs % 1_000 === 0 ? `within ${withinMs / 1_000}s` : `within ${withinMs}ms`
}
