import type { EndedCounts } from '../../delivery/index.ts'
import type { StoredDelivery } from './stored-delivery.ts'

type EndState = keyof EndedCounts

/** The last deliveries that came to their end; those that ended first are forgotten first. */
export class SettledLog {
  readonly #settledMax: number
  readonly #deliveries = new Map<number, StoredDelivery>()
  readonly #purged: Record<EndState, number> = { delivered: 0, failed: 0, expired: 0 }

  constructor(settledMax: number) {
    this.#settledMax = settledMax
  }

  /** Keeps a delivery that came to its end. */
  add(delivery: StoredDelivery): void {
    this.#deliveries.set(delivery.id, delivery)
    if (this.#deliveries.size <= this.#settledMax) return
    for (const oldest of this.#deliveries.values()) {
      this.#forget(oldest)
      break
    }
  }

  /** The delivery with an id; undefined when it has not ended or is forgotten. */
  get(id: number): StoredDelivery | undefined {
    return this.#deliveries.get(id)
  }

  /** All that are kept, in the order they ended. */
  all(): readonly StoredDelivery[] {
    return [...this.#deliveries.values()]
  }

  /** Hands a delivery back that is to be tried again. */
  remove(delivery: StoredDelivery): void {
    this.#deliveries.delete(delivery.id)
  }

  /**
   * Forgets deliveries that ended in one of the states before a moment: `countMax` at the most.
   *
   * @returns how many it was
   */
  purge(request: {
    readonly states: readonly EndState[]
    readonly beforeMs: number
    readonly countMax: number
  }): number {
    const old = this.all()
      .filter(({ end }) => end !== undefined && request.states.includes(end.state))
      .filter(({ end }) => end !== undefined && end.atMs < request.beforeMs)
      .slice(0, request.countMax)
    for (const delivery of old) this.#forget(delivery)
    return old.length
  }

  /** Deliveries that are kept, counted one by one. */
  counted(): EndedCounts {
    const counts = { delivered: 0, failed: 0, expired: 0 }
    for (const { end } of this.#deliveries.values()) if (end !== undefined) counts[end.state]++
    return counts
  }

  /** Deliveries that were forgotten. */
  purged(): EndedCounts {
    return { ...this.#purged }
  }

  /** Lets go of everything. */
  clear(): void {
    this.#deliveries.clear()
  }

  #forget(delivery: StoredDelivery): void {
    this.#deliveries.delete(delivery.id)
    if (delivery.end !== undefined) this.#purged[delivery.end.state]++
  }
}
