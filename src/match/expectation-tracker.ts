import { countText, type Expectation } from './expectation.ts'
import { nearness } from './nearness.ts'
import type { Subject } from './subject.ts'

/** The state of an expectation. Only `open` can still change. */
export type ExpectationState =
  | {
      readonly kind: 'open'
      /** Whether the expectation would be met if the wait ended now. */
      readonly isSatisfied: boolean
    }
  | { readonly kind: 'met' }
  | { readonly kind: 'violated'; readonly reason: 'too_few' | 'too_many' }

/**
 * Counts the requests that match one expectation. Keeps at most two requests.
 *
 * ```ts
 * const tracker = new ExpectationTracker(parseExpectation('type:track x3 within 2s'), nowMs)
 * tracker.observe(event)
 * tracker.stateAt(laterMs) // { kind: 'open', isSatisfied: false }
 * tracker.finalState() // { kind: 'violated', reason: 'too_few' }
 * ```
 */
export class ExpectationTracker<Candidate extends Subject = Subject> {
  /** The expectation. */
  readonly expectation: Expectation
  /** The last moment at which requests count, in milliseconds since 1970; Infinity without `within`. */
  readonly deadlineMs: number
  #matched = 0
  #late = 0
  #surplus: Candidate | undefined
  #nearest: Candidate | undefined
  #nearness = 0

  constructor(expectation: Expectation, startedAtMs: number) {
    this.expectation = expectation
    this.deadlineMs = startedAtMs + (expectation.withinMs ?? Infinity)
  }

  /** The number of requests that matched in time. */
  get matched(): number {
    return this.#matched
  }

  /** The first matching request above the maximum count. */
  get surplus(): Candidate | undefined {
    return this.#surplus
  }

  /** The uncounted request that comes nearest to the match: the first that was only late, else the most similar. */
  get nearest(): Candidate | undefined {
    return this.#nearest
  }

  /** Counts a request. Its `atMs` decides whether it was in time, even if it is counted later. */
  observe(subject: Candidate): void {
    const { match, count } = this.expectation
    const isMatch = match.test(subject)
    if (isMatch && subject.atMs <= this.deadlineMs) {
      this.#matched += 1
      if (this.#matched > count.atMost) this.#surplus ??= subject
      return
    }
    if (isMatch) this.#late += 1
    const near = isMatch ? Infinity : nearness(match, subject)
    if (near <= this.#nearness) return
    this.#nearest = subject
    this.#nearness = near
  }

  /** Returns the state at a moment. Observe all requests that arrived before it first. */
  stateAt(nowMs: number): ExpectationState {
    const { atLeast, atMost } = this.expectation.count
    if (this.#matched > atMost) return { kind: 'violated', reason: 'too_many' }
    const isSatisfied = this.#matched >= atLeast
    if (isSatisfied && atMost === Infinity) return { kind: 'met' }
    if (nowMs <= this.deadlineMs) return { kind: 'open', isSatisfied }
    return isSatisfied ? { kind: 'met' } : { kind: 'violated', reason: 'too_few' }
  }

  /** Returns the state at the end of the wait. It is never `open`. */
  finalState(): Exclude<ExpectationState, { readonly kind: 'open' }> {
    const state = this.stateAt(this.deadlineMs)
    if (state.kind !== 'open') return state
    return state.isSatisfied ? { kind: 'met' } : { kind: 'violated', reason: 'too_few' }
  }

  /** The expected and the actual count, for a person: `expected exactly 3, got 2, and 1 too late`. */
  get account(): string {
    const late = this.#late === 0 ? '' : `, and ${this.#late} too late`
    return `expected ${countText(this.expectation.count)}, got ${this.#matched}${late}`
  }
}
