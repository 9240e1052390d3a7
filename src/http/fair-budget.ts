/**
 * An amount that clients share, such as bytes or connections. No client may hold more than is
 * then left, so a new client always gets some. A single client gets at most half; nine clients get a tenth each.
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

/** What a client reserves in a {@link FairBudget} for one purpose, for example a body. A client may have several. */
export interface FairShare {
  /** Adds to the share. Returns false and adds nothing if the client would hold too much. */
  take(amount: number): boolean
  release(): void
}
