import type { DispatcherParts } from './dispatcher-parts.ts'
import type { DeliveryStore } from './store-port.ts'

interface QueryParts extends Pick<DispatcherParts, 'clock' | 'times'> {
  readonly store: Pick<DeliveryStore, 'nextDue'>
}

/** Maximum number of destinations in one query, so that concurrent claims wait only milliseconds. */
const destinationsMax = 250

/** The length of a pause, as a multiple of the duration of the query before it. */
const pausesPerQuery = 9

/** Maximum pause between queries, even if the clock jumps during a query. */
const pauseMaxMs = 60_000

/**
 * Asks the store when deliveries are due. Asks at once about destinations whose due times are needed. Asks about all
 * after {@link queryAll}, with pauses, so that this takes up at most a tenth of the time.
 */
export class DueTimeQueries {
  readonly #parts: QueryParts
  /** Destinations still to ask about, after {@link queryAll}. */
  readonly #remaining = new Set<string>()
  /** Whether {@link queryAll} must run again: it was called before an earlier call had asked about all destinations. */
  #isWanted = false
  #pause = { sinceMs: 0, untilMs: 0 }

  constructor(parts: QueryParts) {
    this.#parts = parts
  }

  /** Asks about all destinations: other processes may have added deliveries. Queries for an earlier call go first. */
  queryAll(): void {
    this.#isWanted = true
    this.#begin()
  }

  /** When the next query about all destinations may start, in milliseconds since 1970; undefined if none remains. */
  get nextAtMs(): number | undefined {
    return this.#remaining.size > 0 ? this.#pause.untilMs : undefined
  }

  /** Sends one query. Returns false if no query is due. */
  async query(): Promise<boolean> {
    const { store, clock, times } = this.#parts
    const queriedAtMs = clock.nowMs()
    const needed = firstOf(times.toAsk)
    const destinationIds =
      needed.length === 0 && !this.#isPaused(queriedAtMs) ? firstOf(this.#remaining) : needed
    if (destinationIds.length === 0) return false
    for (const id of destinationIds) this.#remaining.delete(id)
    times.ask(destinationIds)
    times.learn(destinationIds, await store.nextDue({ nowMs: queriedAtMs, destinationIds }))
    if (needed.length === 0) this.#pauseAfter(queriedAtMs)
    this.#begin()
    return true
  }

  /** Whether queries about all destinations are paused. Setting the clock back ends the pause. */
  #isPaused(nowMs: number): boolean {
    return nowMs >= this.#pause.sinceMs && nowMs < this.#pause.untilMs
  }

  #pauseAfter(queriedAtMs: number): void {
    const sinceMs = this.#parts.clock.nowMs()
    const pauseMs = pausesPerQuery * Math.max(sinceMs - queriedAtMs, 0)
    this.#pause = { sinceMs, untilMs: sinceMs + Math.min(pauseMs, pauseMaxMs) }
  }

  #begin(): void {
    if (!this.#isWanted || this.#remaining.size > 0) return
    this.#isWanted = false
    for (const id of this.#parts.times.destinationIds) this.#remaining.add(id)
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
