import { formatDuration, shortText } from '../model/index.ts'
import { difference, differenceText, type DifferenceRow } from './difference.ts'
import { countText, type Expectation } from './expectation.ts'
import { nearness } from './nearness.ts'
import type { Subject } from './subject.ts'

/**
 * The state of an expectation during the wait. `missing`: more requests must arrive. `satisfied`: enough have arrived,
 * but another one may exceed the maximum. `decided`: further requests change nothing.
 */
export type ExpectationState = 'missing' | 'satisfied' | 'decided'

/** Counts the requests that match an expectation. Keeps only the nearest miss and the first request too many. */
export class ExpectationTracker<Candidate extends Subject = Subject> {
  readonly expectation: Expectation
  /** Requests that arrive later don't count. In milliseconds since 1970; Infinity without `within`. */
  readonly deadlineMs: number
  #matched = 0
  #others = 0
  #late = 0
  #surplus: Candidate | undefined
  #nearest: Candidate | undefined
  #nearness = 0

  constructor(expectation: Expectation, startedAtMs: number) {
    this.expectation = expectation
    this.deadlineMs = startedAtMs + (expectation.withinMs ?? Infinity)
  }

  /** Counts a request if it matches and arrived in time, even if `observe` is called after the deadline. */
  observe(subject: Candidate): void {
    const { match, count } = this.expectation
    const isMatch = match.test(subject)
    if (isMatch && subject.atMs <= this.deadlineMs) {
      this.#matched += 1
      if (this.#matched > count.atMost) this.#surplus ??= subject
      return
    }
    this.#others += 1
    if (isMatch) this.#late += 1
    const near = isMatch ? Infinity : nearness(match, subject)
    if (near <= this.#nearness) return
    this.#nearest = subject
    this.#nearness = near
  }

  /** Returns the state at `nowMs`. First observe all requests that arrived earlier. */
  stateAt(nowMs: number): ExpectationState {
    const { atMost } = this.expectation.count
    if (nowMs > this.deadlineMs || this.#matched > atMost) return 'decided'
    if (!this.#isSatisfied) return 'missing'
    return atMost === Infinity ? 'decided' : 'satisfied'
  }

  get account(): string {
    const late = this.#late === 0 ? '' : `, and ${this.#late} too late`
    return `expected ${countText(this.expectation.count)}, got ${this.#matched}${late}`
  }

  result(): ExpectationResult<Candidate> {
    const { expectation, account } = this
    const shortfall = this.#shortfall()
    const state = shortfall === undefined ? 'met' : 'unmet'
    return { text: expectation.text, state, matched: this.#matched, account, shortfall }
  }

  get #isSatisfied(): boolean {
    const { atLeast, atMost } = this.expectation.count
    return this.#matched >= atLeast && this.#matched <= atMost
  }

  #shortfall(): Shortfall<Candidate> | undefined {
    const [surplus, nearest] = [this.#surplus, this.#nearest]
    if (this.#isSatisfied) return undefined
    if (surplus !== undefined) return { reason: 'too_many', surplus }
    const counts = { reason: 'too_few', matched: this.#matched, others: this.#others } as const
    if (nearest === undefined) return { ...counts, nearest, difference: [], lateMs: 0 }
    const { match } = this.expectation
    const lateMs = match.test(nearest) ? nearest.atMs - this.deadlineMs : 0
    return { ...counts, nearest, difference: difference(match, nearest), lateMs }
  }
}

/** A request, and the number by which reports refer to it. */
export interface NumberedSubject extends Subject {
  /** Counted from 1. */
  readonly seq: number
}

/** Whether an expectation was met, with the counts, and the reason if it was not. */
export interface ExpectationResult<Candidate extends Subject = NumberedSubject> {
  /** The expectation in the match language. */
  readonly text: string
  readonly state: 'met' | 'unmet'
  /** The number of requests that matched in time. */
  readonly matched: number
  /** The expected and the actual count: `expected exactly 3, got 2, and 1 too late`. */
  readonly account: string
  readonly shortfall: Shortfall<Candidate> | undefined
}

/** Why an expectation was not met, with the request that shows it best. */
export type Shortfall<Candidate extends Subject = NumberedSubject> =
  | {
      readonly reason: 'too_many'
      /** The first request that matched beyond the maximum. */
      readonly surplus: Candidate
    }
  | {
      readonly reason: 'too_few'
      /** The most similar of the requests that did not count; undefined if none is similar. */
      readonly nearest: Candidate | undefined
      /** Compares the match with the nearest request, term by term; empty if there is no such request. */
      readonly difference: readonly DifferenceRow[]
      /** How late the nearest request was, in milliseconds; 0 if it does not match. */
      readonly lateMs: number
      /** The number of requests that matched in time. */
      readonly matched: number
      /** The number of requests that did not match, or matched too late. */
      readonly others: number
    }

/** Explains why an expectation was not met, in lines of at most `width` columns (default 80). */
export function shortfallText(shortfall: Shortfall, width?: number): string {
  if (shortfall.reason === 'too_many') {
    return `#${shortfall.surplus.seq} is one too many`
  }
  const { nearest, lateMs, matched, others } = shortfall
  if (nearest === undefined) {
    return `No ${matched > 0 ? 'other ' : ''}request ${others > 0 ? 'was similar' : 'arrived'}`
  }
  if (lateMs > 0) return `#${nearest.seq} arrived ${formatDuration(lateMs)} too late`
  const { body, reason } = nearest
  const fault =
    body === null && reason ? `, which is not a webhook: ${shortText(reason, 200)}` : ':'
  return `The nearest request is #${nearest.seq}${fault}\n${differenceText(shortfall.difference, width)}`
}
