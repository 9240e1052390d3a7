import { formatDuration } from '../model/index.ts'
import { difference, differenceText, type DifferenceRow } from './difference.ts'
import type { ExpectationTracker } from './expectation-tracker.ts'
import type { Subject } from './subject.ts'

/** A request that has a number. */
export interface NumberedSubject extends Subject {
  /** Its number, from 1, in the order of arrival. */
  readonly seq: number
}

/** What became of an expectation. */
export interface ExpectationResult<Candidate extends NumberedSubject = NumberedSubject> {
  /** The expectation in the language. */
  readonly text: string
  /** Whether it was met. */
  readonly state: 'met' | 'unmet'
  /** How many requests matched in time. */
  readonly matched: number
  /** The expected and the actual count: `expected exactly 3, got 2, and 1 too late`. */
  readonly account: string
  /** Why it was not met, with the request that shows it best; undefined where it was met. */
  readonly shortfall: Shortfall<Candidate> | undefined
}

/** Why an expectation was not met. */
export type Shortfall<Candidate extends NumberedSubject = NumberedSubject> =
  | {
      /** More came than may come. */
      readonly reason: 'too_many'
      /** The first that was one too many. */
      readonly surplus: Candidate
    }
  | {
      /** Fewer came in time than have to. */
      readonly reason: 'too_few'
      /** The one that came nearest without counting; undefined where none is near. */
      readonly nearest: Candidate | undefined
      /** The terms of the match beside the nearest request; empty if there is none. */
      readonly difference: readonly DifferenceRow[]
      /** How long after its time the nearest came, in milliseconds; 0 where it is not only late. */
      readonly lateMs: number
    }

/** Sums up the counts of a tracker at the end of the wait. */
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
 * Shows the request that tells why an expectation was not met, for a person: in lines of at most
 * `width` columns, without a final line break.
 */
export function shortfallText(shortfall: Shortfall, width?: number): string {
  if (shortfall.reason === 'too_many') {
    return `The first that was one too many is #${shortfall.surplus.seq}`
  }
  const { nearest, lateMs } = shortfall
  if (nearest === undefined) return 'Nothing that came is near it'
  if (lateMs > 0) return `#${nearest.seq} came ${formatDuration(lateMs)} too late`
  return `The nearest is #${nearest.seq}:\n${differenceText(shortfall.difference, width)}`
}
