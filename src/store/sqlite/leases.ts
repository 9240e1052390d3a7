import type { LeasedDelivery } from '../../delivery/index.ts'

/** The deliveries that are given out. A lease is the very object that was given out. */
export class Leases {
  readonly #byDestination = new Map<string, Map<number, LeasedDelivery>>()
  readonly #ending = new Set<LeasedDelivery>()

  /** Gives a delivery out. */
  begin(delivery: LeasedDelivery): void {
    const leases = this.#byDestination.get(delivery.destinationId)
    if (leases === undefined) {
      this.#byDestination.set(delivery.destinationId, new Map([[delivery.id, delivery]]))
    } else {
      leases.set(delivery.id, delivery)
    }
  }

  /**
   * Announces the end of a lease. Until {@link Leases.end} the delivery is still given out.
   *
   * @returns false when the lease has ended, or its end was announced already
   */
  beginEnd(delivery: LeasedDelivery): boolean {
    const lease = this.#byDestination.get(delivery.destinationId)?.get(delivery.id)
    if (lease !== delivery || this.#ending.has(delivery)) return false
    this.#ending.add(delivery)
    return true
  }

  /** Takes the announcement of an end back. */
  goOn(delivery: LeasedDelivery): void {
    this.#ending.delete(delivery)
  }

  /** Takes a delivery back. */
  end(delivery: LeasedDelivery): void {
    this.#ending.delete(delivery)
    this.#byDestination.get(delivery.destinationId)?.delete(delivery.id)
  }

  /** How many deliveries are given out. */
  get size(): number {
    return [...this.#byDestination.values()].reduce((sum, { size }) => sum + size, 0)
  }

  /** The ids of a destination's deliveries that are given out. */
  idsOf(destinationId: string): Pick<ReadonlySet<number>, 'has' | 'size'> {
    return this.#byDestination.get(destinationId) ?? noIds
  }
}

const noIds: ReadonlySet<number> = new Set()
