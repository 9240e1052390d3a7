import type { LeasedDelivery } from './store-port.ts'

/** The part of the bound that claims may fill. */
const claimedPart = 0.75

/** The part of a lease in which its delivery may start. A request fits in the rest. */
const usablePart = 2 / 3

/** When leases were requested, and the time since. */
export interface LeaseStart {
  /** In milliseconds since 1970, as passed to the store. */
  readonly atMs: number
  /** Milliseconds since then, including those in which the process or its clock stood still. */
  readonly elapsedMs: () => number
}

/** How old a lease may become before its delivery starts. */
interface Term extends Pick<LeaseStart, 'elapsedMs'> {
  readonly usableMs: number
}

/**
 * Counts leased deliveries of all destinations that have not started. The bound keeps a process from leasing
 * more than it can start soon: leases would expire, and other processes could have sent those deliveries.
 */
export class Prefetch {
  readonly #max: number
  readonly #terms = new WeakMap<LeasedDelivery, Term>()
  #taken = 0

  /** @param max - maximum number of deliveries that are leased, or on their way, and have not started */
  constructor(max: number) {
    this.#max = max
  }

  /** Deliveries that may still be handed over when they are added. */
  get room(): number {
    return Math.max(this.#max - this.#taken, 0)
  }

  /** Deliveries that may still be claimed. Claims leave some room to fresh deliveries. */
  get claimRoom(): number {
    return Math.max(Math.floor(this.#max * claimedPart) - this.#taken, 0)
  }

  /** Whether the room is too small to be worth a claim while all request slots are taken. */
  get isShort(): boolean {
    return this.claimRoom < this.#max / 8
  }

  /** Returns the share of each of several destinations, at least 1. */
  partOf(destinations: number): number {
    return Math.max(Math.floor(this.#max / Math.max(destinations, 1)), 1)
  }

  /** Adds to the count of leased deliveries. A negative count takes away. */
  add(count: number): void {
    this.#taken += count
  }

  /** Notes when leases began, if leases end by time. */
  begin(deliveries: readonly LeasedDelivery[], { atMs, elapsedMs }: LeaseStart): void {
    for (const delivery of deliveries) {
      const { leasedUntilMs } = delivery
      if (leasedUntilMs === undefined) return
      this.#terms.set(delivery, { elapsedMs, usableMs: (leasedUntilMs - atMs) * usablePart })
    }
  }

  /**
   * Whether a lease is too old for its delivery to start: it could end before the request does, and another
   * process could send the delivery as well.
   */
  isWorn(delivery: LeasedDelivery): boolean {
    if (delivery.leasedUntilMs === undefined) return false
    const term = this.#terms.get(delivery)
    return term !== undefined && term.elapsedMs() >= term.usableMs
  }
}
