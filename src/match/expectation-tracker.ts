import { countText, type Expectation } from './expectation.ts'
import { nearness } from './nearness.ts'
import type { Subject } from './subject.ts'

/** How an expectation stands. Only `open` can still change. */
export type ExpectationState =
  | {
      readonly kind: 'open'
      /** Whether it would be met if the wait ended now. */
      readonly isSatisfied: boolean
    }
  | { readonly kind: 'met' }
  | { readonly kind: 'violated'; readonly reason: 'too_few' | 'too_many' }

/**
 * Counts what arrives for one expectation. Keeps at most two requests, however many it counts.
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
  /** The last moment that counts, in milliseconds since 1970; Infinity without `within`. */
  readonly deadlineMs: number
  #matched = 0
  #late = 0
  #other = 0
  #surplus: Candidate | undefined
  #nearest: Candidate | undefined
  #nearness = 0

  constructor(expectation: Expectation, startedAtMs: number) {
    this.expectation = expectation
    this.deadlineMs = startedAtMs + (expectation.withinMs ?? Infinity)
  }

  /** How many requests matched in time. */
  get matched(): number {
    return this.#matched
  }

  /** How many requests matched and arrived after `deadlineMs`. */
  get late(): number {
    return this.#late
  }

  /** How many requests did not match. */
  get other(): number {
    return this.#other
  }

  /** The first request that was one too many. */
  get surplus(): Candidate | undefined {
    return this.#surplus
  }

  /** The request that came nearest without counting: the first that was only late, else the most alike. */
  get nearest(): Candidate | undefined {
    return this.#nearest
  }

  /** Counts a request. Its `atMs` decides whether it is in time, however late it is counted. */
  observe(subject: Candidate): void {
    const { match, count } = this.expectation
    const isMatch = match.test(subject)
    if (isMatch && subject.atMs <= this.deadlineMs) {
      this.#matched += 1
      if (this.#matched > count.atMost) this.#surplus ??= subject
      return
    }
    if (isMatch) this.#late += 1
    else this.#other += 1
    const near = isMatch ? Infinity : nearness(match, subject)
    if (near <= this.#nearness) return
    this.#nearest = subject
    this.#nearness = near
  }

  /** How it stands at a moment, when all that arrived before was observed. */
  stateAt(nowMs: number): ExpectationState {
    const { atLeast, atMost } = this.expectation.count
    if (this.#matched > atMost) return { kind: 'violated', reason: 'too_many' }
    const isSatisfied = this.#matched >= atLeast
    if (isSatisfied && atMost === Infinity) return { kind: 'met' }
    if (nowMs <= this.deadlineMs) return { kind: 'open', isSatisfied }
    return isSatisfied ? { kind: 'met' } : { kind: 'violated', reason: 'too_few' }
  }

  /** The state at the end of the wait; never `open`. */
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
