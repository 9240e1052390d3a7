/**
 * An amount that clients share, such as bytes or connections. A client may hold at most as much as is still free, so
 * that it never locks out a new client: on its own it gets half, and nine clients get a tenth each.
 */
export class FairBudget {
  readonly #amountMax: number
  readonly #heldBy = new Map<string, number>()
  #held = 0

  constructor(amountMax: number) {
    this.#amountMax = amountMax
  }

  get held(): number {
    return this.#held
  }

  share(client: string): FairShare {
    let shared = 0
    const change = (amount: number): void => {
      const held = (this.#heldBy.get(client) ?? 0) + amount
      if (held > 0) this.#heldBy.set(client, held)
      else this.#heldBy.delete(client)
      this.#held += amount
      shared += amount
    }
    return {
      take: (amount) => {
        const held = (this.#heldBy.get(client) ?? 0) + amount
        if (held > this.#amountMax - this.#held - amount) return false
        change(amount)
        return true
      },
      release: () => change(-shared),
    }
  }
}

/** One client's share of a {@link FairBudget}, for example for one body. */
export interface FairShare {
  /** Adds to the share. Returns false and adds nothing if the client would hold too much. */
  take(amount: number): boolean
  /** Gives everything back. */
  release(): void
}
