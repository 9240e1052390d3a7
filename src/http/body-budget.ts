import { FairBudget } from './fair-budget.ts'

/** Bytes that bodies may hold in memory together, shared fairly among clients. */
export class BodyBudget {
  readonly #budget: FairBudget

  constructor(bytesMax: number) {
    this.#budget = new FairBudget(bytesMax)
  }

  /** Bytes that are held now. */
  get bytes(): number {
    return this.#budget.held
  }

  /**
   * Begins the share of one body.
   *
   * @param client - whose bodies share what one client may hold
   */
  share(client: string): BodyShare {
    return new BodyShare(this.#budget, client)
  }
}

/** What one body holds of a budget, until it is given back. */
export class BodyShare {
  readonly #budget: FairBudget
  readonly #client: string
  #bytes = 0

  constructor(budget: FairBudget, client: string) {
    this.#budget = budget
    this.#client = client
  }

  /** Takes more bytes; false if too few are left for this client. */
  take(bytes: number): boolean {
    if (!this.#budget.take(this.#client, bytes)) return false
    this.#bytes += bytes
    return true
  }

  /** Gives everything back. */
  release(): void {
    if (this.#bytes === 0) return
    this.#budget.giveBack(this.#client, this.#bytes)
    this.#bytes = 0
  }
}
