import type { Clock } from '../runtime/index.ts'
import type { DeliveryStore } from './store-port.ts'
import type { WaitingTimes } from './waiting-times.ts'

/** Options of looks. */
export interface LooksOptions {
  /** Where deliveries wait. */
  readonly store: Pick<DeliveryStore, 'nextDue'>
  /** Paces the looks. */
  readonly clock: Clock
  /** Learns the answers. */
  readonly times: WaitingTimes
}

/** Maximum number of destinations in one question, so that concurrent claims wait only milliseconds. */
const destinationsMax = 250

/** The pause after a question of a look, as a multiple of the time the answer took. */
const pausesPerQuestion = 9

/** Upper bound of the pause, even if the clock was set during the question. */
const pauseMaxMs = 60_000

/**
 * Asks the store when deliveries are due: at once about destinations whose due times are needed, and from time
 * to time about all, because another process may have added deliveries. Looks at all destinations take at most
 * a tenth of the time.
 */
export class Looks {
  readonly #options: LooksOptions
  /** Destinations that the current look has not asked about. */
  readonly #left = new Set<string>()
  /** Whether another look at all destinations follows this one. */
  #isWanted = false
  #pause = { sinceMs: 0, untilMs: 0 }

  constructor(options: LooksOptions) {
    this.#options = options
  }

  /** Requests a look at all destinations. A look under way is finished first. */
  lookAtAll(): void {
    this.#isWanted = true
    this.#begin()
  }

  /** When the next question of a look may be asked, in milliseconds since 1970; undefined without one. */
  get nextAtMs(): number | undefined {
    return this.#left.size > 0 ? this.#pause.untilMs : undefined
  }

  /** Asks one question. Returns false if none is due. */
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

  /** Whether the pause lasts. A clock that was set back ends it. */
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
