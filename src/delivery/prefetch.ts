import type { LeasedDelivery } from './store-port.ts'

/** The share of the maximum that claims may fill. New deliveries use the rest. */
const claimedPart = 0.75

/** The share of a lease in which its delivery may start. The rest is long enough for a request. */
const usablePart = 2 / 3

/** When leases were requested, and how long ago that was. */
export interface LeaseStart {
  /** In milliseconds since 1970, as passed to the store. */
  readonly atMs: number
  /** Returns the milliseconds since then, even if the process was suspended or its clock was set back. */
  readonly elapsedMs: () => number
}

/** How old a lease may be when its delivery starts. */
interface UsableLease extends Pick<LeaseStart, 'elapsedMs'> {
  readonly usableMs: number
}

/**
 * Counts the leased deliveries of all destinations that have not started. A maximum keeps a process from leasing
 * more than it can start soon: the leases could expire, and other processes could send the deliveries sooner.
 */
export class Prefetch {
  readonly #max: number
  readonly #leases = new WeakMap<LeasedDelivery, UsableLease>()
  #taken = 0

  /** @param max - maximum number of deliveries that have not started: those that are leased, and those about to arrive */
  constructor(max: number) {
    this.#max = max
  }

  /** How many more deliveries may be leased as they are added. */
  get room(): number {
    return Math.max(this.#max - this.#taken, 0)
  }

  /** How many more deliveries may be claimed. Claims leave some room for new deliveries. */
  get claimRoom(): number {
    return Math.max(Math.floor(this.#max * claimedPart) - this.#taken, 0)
  }

  /** Whether the room is too small to be worth a claim while all request slots are taken. */
  get isShort(): boolean {
    return this.claimRoom < this.#max / 8
  }

  /** Returns an equal part of the maximum for each of several destinations, at least 1. */
  partOf(destinations: number): number {
    return Math.max(Math.floor(this.#max / Math.max(destinations, 1)), 1)
  }

  /** Adds to the number of leased deliveries; subtracts if `count` is negative. */
  add(count: number): void {
    this.#taken += count
  }

  /** Notes when leases began, if they expire. */
  begin(deliveries: readonly LeasedDelivery[], { atMs, elapsedMs }: LeaseStart): void {
    for (const delivery of deliveries) {
      const { leasedUntilMs } = delivery
      if (leasedUntilMs === undefined) return
      this.#leases.set(delivery, { elapsedMs, usableMs: (leasedUntilMs - atMs) * usablePart })
    }
  }

  /**
   * Whether a lease is too old for its delivery to start: the lease could expire before the request ends, and
   * another process could send the delivery too.
   */
  isWorn(delivery: LeasedDelivery): boolean {
    if (delivery.leasedUntilMs === undefined) return false
    const lease = this.#leases.get(delivery)
    return lease !== undefined && lease.elapsedMs() >= lease.usableMs
  }
}
