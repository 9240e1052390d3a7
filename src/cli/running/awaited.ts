import {
  countText,
  expectationResult,
  ExpectationTracker,
  type Expectation,
  type ExpectationResult,
} from '../../match/index.ts'
import type { ReceivedEvent } from '../../receiver/index.ts'

/** What has to arrive. */
export interface AwaitedOptions {
  /** What is expected of the webhooks. */
  readonly expectations: readonly Expectation[]
  /** How many well-formed webhooks have to come at the least; undefined for any number. */
  readonly count: number | undefined
}

/** Counts what arrives for all that is expected. */
export class Awaited {
  readonly #trackers: readonly ExpectationTracker<ReceivedEvent>[]
  readonly #count: number | undefined
  #wellFormed = 0

  constructor({ expectations, count }: AwaitedOptions, startedAtMs: number) {
    this.#trackers = expectations.map((each) => new ExpectationTracker(each, startedAtMs))
    this.#count = count
  }

  /** Counts a request. */
  observe(event: ReceivedEvent): void {
    if (event.kind === 'webhook') this.#wellFormed++
    for (const tracker of this.#trackers) tracker.observe(event)
  }

  /**
   * How all of it stands: something is missing that may still come, or nothing is and there may still come
   * too much, or nothing that comes changes anything.
   */
  stateAt(nowMs: number): 'missing' | 'satisfied' | 'decided' {
    const states = this.#trackers.map((tracker) => tracker.stateAt(nowMs))
    const open = states.filter((state) => state.kind === 'open')
    if (!this.#isCountReached || open.some(({ isSatisfied }) => !isSatisfied)) return 'missing'
    return open.length > 0 ? 'satisfied' : 'decided'
  }

  /** What became of each expectation, when nobody waits any longer. */
  results(): readonly ExpectationResult<ReceivedEvent>[] {
    const results = this.#trackers.map((tracker) => expectationResult(tracker))
    return this.#count === undefined ? results : [...results, this.#countResult(this.#count)]
  }

  get #isCountReached(): boolean {
    return this.#wellFormed >= (this.#count ?? 0)
  }

  #countResult(count: number): ExpectationResult<ReceivedEvent> {
    const matched = this.#wellFormed
    return {
      text: `--count ${count}`,
      state: this.#isCountReached ? 'met' : 'unmet',
      matched,
      account: `expected ${countText({ atLeast: count, atMost: Infinity })}, got ${matched}`,
      shortfall: undefined,
    }
  }
}
