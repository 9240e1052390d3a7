import {
  ExpectationTracker,
  type Expectation,
  type ExpectationResult,
  type ExpectationState,
  type NumberedSubject,
} from '../../match/index.ts'

/** Tracks several expectations about the same requests. */
export class AwaitedRequests {
  readonly #trackers: readonly ExpectationTracker<NumberedSubject>[]

  constructor(expectations: readonly Expectation[], startedAtMs: number) {
    this.#trackers = expectations.map((each) => new ExpectationTracker(each, startedAtMs))
  }

  observe(event: NumberedSubject): void {
    for (const tracker of this.#trackers) tracker.observe(event)
  }

  stateAt(nowMs: number): ExpectationState {
    const states = this.#trackers.map((tracker) => tracker.stateAt(nowMs))
    if (states.includes('missing')) return 'missing'
    return states.includes('satisfied') ? 'satisfied' : 'decided'
  }

  results(): readonly ExpectationResult[] {
    return this.#trackers.map((tracker) => tracker.result())
  }
}
