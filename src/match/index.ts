/**
 * The match language: which requests are expected, how many and how soon, and how a request differs from that. Pure.
 */
export { difference, differenceText, type DifferenceRow } from './difference.ts'
export { EventFilter } from './event-filter.ts'
export {
  expectationResult,
  shortfallText,
  type ExpectationResult,
  type NumberedSubject,
  type Shortfall,
} from './expectation-result.ts'
export { ExpectationTracker, type ExpectationState } from './expectation-tracker.ts'
export {
  atLeastOnce,
  countText,
  expectationOf,
  type CountRange,
  type Expectation,
} from './expectation.ts'
export { MatchError } from './match-error.ts'
export {
  conditionText,
  matchOf,
  type AsymmetricMatcher,
  type ExpectedBody,
  type ExpectedValue,
  type ValuePredicate,
} from './match-of.ts'
export type { Match } from './match.ts'
export { parseExpectation } from './parse-expectation.ts'
export { parseMatch } from './parse-match.ts'
export type { Subject } from './subject.ts'
