import type { Clock } from '../runtime/index.ts'
import type { DeliveryStore } from './store-port.ts'
import type { WaitingTimes } from './waiting-times.ts'

/** What looks are made of. */
export interface LooksOptions {
  /** Where deliveries wait. */
  readonly store: Pick<DeliveryStore, 'nextDue'>
  /** Paces the looks. */
  readonly clock: Clock
  /** Learns the answers. */
  readonly times: WaitingTimes
}

/** Destinations that one question is about: few enough that claims beside it wait for milliseconds. */
const destinationsMax = 250

/** After a question of a look, the store is left alone for this many times as long as the answer took. */
const pausesPerQuestion = 9

/** No pause is longer, even if somebody set the clock while the store was asked. */
const pauseMaxMs = 60_000

/**
 * Asks the store when deliveries are due: at once about destinations whose answer is needed, and now and then
 * about all, for what somebody else left there. Looking at all takes a tenth of the time at most.
 */
export class Looks {
  readonly #options: LooksOptions
  /** Destinations that are still to be looked at, each once. */
  readonly #left = new Set<string>()
  /** Whether another look at all follows this one. */
  #isWanted = false
  #pause = { sinceMs: 0, untilMs: 0 }

  constructor(options: LooksOptions) {
    this.#options = options
  }

  /** Wants a look at all destinations. One that has begun is finished first. */
  lookAtAll(): void {
    this.#isWanted = true
    this.#begin()
  }

  /** When the next question of a look may be asked, in milliseconds since 1970; undefined without one. */
  get nextAtMs(): number | undefined {
    return this.#left.size > 0 ? this.#pause.untilMs : undefined
  }

  /** Asks one question; false when none is to be asked now. */
  async ask(): Promise<boolean> {
    const { store, clock, times } = this.#options
    const askedAtMs = clock.nowMs()
    const needed = firstOf(times.toAsk)
    const asked = needed.length === 0 && !this.#isPaused(askedAtMs) ? firstOf(this.#left) : needed
    if (asked.length === 0) return false
    for (const id of asked) this.#left.delete(id)
    times.ask(asked)
    times.learn(asked, await store.nextDue({ destinationIds: asked }))
    if (needed.length === 0) this.#pauseAfter(askedAtMs)
    this.#begin()
    return true
  }

  /** A clock that was set back ends the pause. */
  #isPaused(nowMs: number): boolean {
    return nowMs >= this.#pause.sinceMs && nowMs < this.#pause.untilMs
  }

  #pauseAfter(askedAtMs: number): void {
    const sinceMs = this.#options.clock.nowMs()
    const pauseMs = pausesPerQuestion * Math.max(sinceMs - askedAtMs, 0)
    this.#pause = { sinceMs, untilMs: sinceMs + Math.min(pauseMs, pauseMaxMs) }
  }

  #begin(): void {
    if (!this.#isWanted || this.#left.size > 0) return
    this.#isWanted = false
    for (const id of this.#options.times.destinationIds) this.#left.add(id)
  }
}

function firstOf(destinationIds: ReadonlySet<string>): readonly string[] {
  const first: string[] = []
  for (const id of destinationIds) {
    if (first.length === destinationsMax) break
    first.push(id)
  }
  return first
}
