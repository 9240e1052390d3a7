import type { LeasedDelivery } from './store-port.ts'

/** Claims may fill this share of the limit. The rest is for deliveries that the store leases as it adds them. */
const claimedPart = 0.75

/** The share of a lease's time in which its delivery may start. The rest is long enough for a request. */
const usablePart = 2 / 3

/** When leases were requested, and how long ago that was. */
export interface LeaseStart {
  /** The `nowMs` in the request to the store, in milliseconds since 1970. */
  readonly atMs: number
  /** Returns the time since the request, even if the process was suspended or its clock set back. */
  readonly elapsedMs: () => number
}

/** How old a lease may be when its delivery starts. */
interface UsableLease extends Pick<LeaseStart, 'elapsedMs'> {
  readonly usableMs: number
}

/**
 * Limits the ready deliveries of all destinations together to as many as this process can start soon. More would only
 * wait here: their leases could expire, and another process could send them sooner.
 */
export class Prefetch {
  readonly #max: number
  readonly #leases = new WeakMap<LeasedDelivery, UsableLease>()
  #taken = 0

  /** @param max - limit on deliveries that are ready, or on their way from the store */
  constructor(max: number) {
    this.#max = max
  }

  /** How many more deliveries the store may hand over as it adds them. */
  get room(): number {
    return Math.max(this.#max - this.#taken, 0)
  }

  /** How many more deliveries may be claimed. Claims leave some room for new deliveries. */
  get claimRoom(): number {
    return Math.max(Math.floor(this.#max * claimedPart) - this.#taken, 0)
  }

  /** Whether there is so little room for deliveries that a claim can wait until a request ends. */
  get isShort(): boolean {
    return this.claimRoom < this.#max / 8
  }

  /** Returns each destination's equal share of the maximum, but at least 1. */
  partOf(destinations: number): number {
    return Math.max(Math.floor(this.#max / Math.max(destinations, 1)), 1)
  }

  /** Counts deliveries that become ready. A negative `count` is for those that start, or return to the store. */
  add(count: number): void {
    this.#taken += count
  }

  /** Notes when leases began, for {@link isStale}. */
  begin(deliveries: readonly LeasedDelivery[], { atMs, elapsedMs }: LeaseStart): void {
    for (const delivery of deliveries) {
      const { leasedUntilMs } = delivery
      if (leasedUntilMs === undefined) return
      this.#leases.set(delivery, { elapsedMs, usableMs: (leasedUntilMs - atMs) * usablePart })
    }
  }

  /** Whether a lease could expire during a request that starts now. Another process would then resend the delivery. */
  isStale(delivery: LeasedDelivery): boolean {
    if (delivery.leasedUntilMs === undefined) return false
    const lease = this.#leases.get(delivery)
    return lease !== undefined && lease.elapsedMs() >= lease.usableMs
  }
}
