import type { LeasedDelivery } from './store-port.ts'

/** The part of the bound that claims may fill. */
const claimedPart = 0.75

/** The part of a lease after which nothing starts on it: a request fits in the rest. */
const usablePart = 2 / 3

/** When leases were asked for, and the time that has gone by since. */
export interface LeaseStart {
  /** In milliseconds since 1970, as passed to the store. */
  readonly atMs: number
  /** Milliseconds since then, also those in which the process or its clock stood still. */
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

  /** @param max - deliveries that may be leased, or on their way, without having started */
  constructor(max: number) {
    this.#max = max
  }

  /** How many more may be handed over as they are added. */
  get room(): number {
    return Math.max(this.#max - this.#taken, 0)
  }

  /** How many more may be claimed. Fresh deliveries keep some room, which claims under way cannot take. */
  get claimRoom(): number {
    return Math.max(Math.floor(this.#max * claimedPart) - this.#taken, 0)
  }

  /** Whether so few may be claimed that it is not worth it while everything is busy. */
  get isShort(): boolean {
    return this.claimRoom < this.#max / 8
  }

  /** How many one of several destinations may have, so that each gets some. */
  partOf(destinations: number): number {
    return Math.max(Math.floor(this.#max / Math.max(destinations, 1)), 1)
  }

  /** Counts deliveries that were leased or are on their way; those that left where negative. */
  add(count: number): void {
    this.#taken += count
  }

  /** Notes since when deliveries are leased, where leases end by time. */
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
