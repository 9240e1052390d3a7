import { formatDuration } from '../model/index.ts'
import { difference, differenceText, type DifferenceRow } from './difference.ts'
import type { ExpectationTracker } from './expectation-tracker.ts'
import type { Subject } from './subject.ts'

/** A numbered request. */
export interface NumberedSubject extends Subject {
  /** The number of the request, from 1. */
  readonly seq: number
}

/** The result of an expectation. */
export interface ExpectationResult<Candidate extends NumberedSubject = NumberedSubject> {
  /** The expectation as text in the match language. */
  readonly text: string
  /** Whether the expectation was met. */
  readonly state: 'met' | 'unmet'
  /** The number of requests that matched in time. */
  readonly matched: number
  /** The expected and the actual count: `expected exactly 3, got 2, and 1 too late`. */
  readonly account: string
  /** Why the expectation was not met, with the request that shows it best; undefined if it was met. */
  readonly shortfall: Shortfall<Candidate> | undefined
}

/** Why an expectation was not met. */
export type Shortfall<Candidate extends NumberedSubject = NumberedSubject> =
  | {
      /** More requests matched than the maximum. */
      readonly reason: 'too_many'
      /** The first matching request above the maximum. */
      readonly surplus: Candidate
    }
  | {
      /** Fewer requests matched in time than the minimum. */
      readonly reason: 'too_few'
      /** The uncounted request that comes nearest to the match; undefined if none comes near. */
      readonly nearest: Candidate | undefined
      /** The match compared with the nearest request, term by term; empty if there is none. */
      readonly difference: readonly DifferenceRow[]
      /** How late the nearest request was, in milliseconds; 0 if it doesn't match. */
      readonly lateMs: number
    }

/** Returns the result of a tracker at the end of the wait. */
export function expectationResult<Candidate extends NumberedSubject>(
  tracker: ExpectationTracker<Candidate>,
): ExpectationResult<Candidate> {
  const { expectation, matched, account } = tracker
  const shortfall = shortfallOf(tracker)
  const state = shortfall === undefined ? 'met' : 'unmet'
  return { text: expectation.text, state, matched, account, shortfall }
}

function shortfallOf<Candidate extends NumberedSubject>(
  tracker: ExpectationTracker<Candidate>,
): Shortfall<Candidate> | undefined {
  if (tracker.finalState().kind === 'met') return undefined
  const { surplus, nearest, deadlineMs } = tracker
  if (surplus !== undefined) return { reason: 'too_many', surplus }
  if (nearest === undefined) return { reason: 'too_few', nearest, difference: [], lateMs: 0 }
  const { match } = tracker.expectation
  const lateMs = match.test(nearest) ? nearest.atMs - deadlineMs : 0
  return { reason: 'too_few', nearest, difference: difference(match, nearest), lateMs }
}

/**
 * Explains to a person why an expectation was not met, using the request that shows it best. Lines have at most
 * `width` columns. There is no final line break.
 */
export function shortfallText(shortfall: Shortfall, width?: number): string {
  if (shortfall.reason === 'too_many') {
    return `The first surplus request is #${shortfall.surplus.seq}`
  }
  const { nearest, lateMs } = shortfall
  if (nearest === undefined) return 'No request came near it'
  if (lateMs > 0) return `#${nearest.seq} arrived ${formatDuration(lateMs)} too late`
  return `The nearest is #${nearest.seq}:\n${differenceText(shortfall.difference, width)}`
}
