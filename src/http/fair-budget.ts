/**
 * An amount that clients share, such as bytes of bodies or connections. A client may hold no more than
 * stays free: one alone gets half, nine get a tenth each. So clients that take all they can never keep
 * another one out.
 */
export class FairBudget {
  readonly #amountMax: number
  readonly #heldBy = new Map<string, number>()
  #held = 0

  constructor(amountMax: number) {
    this.#amountMax = amountMax
  }

  /** The sum that all clients hold now. */
  get held(): number {
    return this.#held
  }

  /** Takes more for a client; false if that is more than it may hold. */
  take(client: string, amount: number): boolean {
    const held = (this.#heldBy.get(client) ?? 0) + amount
    if (held > this.#amountMax - this.#held - amount) return false
    this.#heldBy.set(client, held)
    this.#held += amount
    return true
  }

  /** Returns all or a part of a client's holding. */
  giveBack(client: string, amount: number): void {
    const held = (this.#heldBy.get(client) ?? 0) - amount
    if (held > 0) this.#heldBy.set(client, held)
    else this.#heldBy.delete(client)
    this.#held -= amount
  }
}
