import {
  expectationResult,
  ExpectationTracker,
  type Expectation,
  type ExpectationResult,
  type NumberedSubject,
} from '../../match/index.ts'

/** Counts what arrives for all that is expected. */
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
   * How all of it stands: something is missing that may still come, or nothing is and there may still come
   * too much, or nothing that comes changes anything.
   */
  stateAt(nowMs: number): 'missing' | 'satisfied' | 'decided' {
    const states = this.#trackers.map((tracker) => tracker.stateAt(nowMs))
    const open = states.filter((state) => state.kind === 'open')
    if (open.some(({ isSatisfied }) => !isSatisfied)) return 'missing'
    return open.length > 0 ? 'satisfied' : 'decided'
  }

  /** What became of each expectation, when nobody waits any longer. */
  results(): readonly ExpectationResult[] {
    return this.#trackers.map((tracker) => expectationResult(tracker))
  }
}
