import {
  expectationResult,
  ExpectationTracker,
  type Expectation,
  type ExpectationResult,
  type NumberedSubject,
} from '../../match/index.ts'

/** Tracks all expectations of a run. */
export class Awaited {
  readonly #trackers: readonly ExpectationTracker<NumberedSubject>[]

  constructor(expectations: readonly Expectation[], startedAtMs: number) {
    this.#trackers = expectations.map((each) => new ExpectationTracker(each, startedAtMs))
  }

  /** Counts a request. */
  observe(event: NumberedSubject): void {
    for (const tracker of this.#trackers) tracker.observe(event)
  }

  /**
   * The state of all expectations together:
   *
   * - `missing`: something that may still arrive is missing;
   * - `satisfied`: nothing is missing, but too much may still arrive;
   * - `decided`: further requests change nothing.
   */
  stateAt(nowMs: number): 'missing' | 'satisfied' | 'decided' {
    const states = this.#trackers.map((tracker) => tracker.stateAt(nowMs))
    const open = states.filter((state) => state.kind === 'open')
    if (open.some(({ isSatisfied }) => !isSatisfied)) return 'missing'
    return open.length > 0 ? 'satisfied' : 'decided'
  }

  /** The results when the wait has ended. */
  results(): readonly ExpectationResult[] {
    return this.#trackers.map((tracker) => expectationResult(tracker))
  }
}
