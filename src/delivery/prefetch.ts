/** The part of the bound that claims may fill. */
const claimedPart = 0.75

/**
 * What is leased over all destinations and has not started. The bound keeps a process from leasing more than it
 * can start soon: leases would end before their turn, and others could have sent what they hold.
 */
export class Prefetch {
  readonly #max: number
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
}
