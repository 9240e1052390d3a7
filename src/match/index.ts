/** The match language: which requests are expected, how many and how soon, and how a request differs. Pure. */
export { difference, differenceText, type DifferenceRow } from './difference.ts'
export { EventFilter } from './event-filter.ts'
export {
  ExpectationTracker,
  shortfallText,
  type ExpectationResult,
  type ExpectationState,
  type NumberedSubject,
  type Shortfall,
} from './expectation-tracker.ts'
export {
  atLeastOnce,
  countText,
  expectationOf,
  type CountRange,
  type Expectation,
} from './expectation.ts'
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
export { MatchError } from './scanner.ts'
export { signatureVerdicts, type SignatureVerdict, type Subject } from './subject.ts'
