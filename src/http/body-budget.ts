/** Bytes that bodies may hold in memory together, so that no number of connections can fill it. */
export class BodyBudget {
  readonly #bytesMax: number
  #bytes = 0

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  /** Bytes that are held now. */
  get bytes(): number {
    return this.#bytes
  }

  /** Begins the share of one body. */
  share(): BodyShare {
    return new BodyShare((bytes) => this.#take(bytes))
  }

  #take(bytes: number): boolean {
    if (this.#bytes + bytes > this.#bytesMax) return false
    this.#bytes += bytes
    return true
  }
}

/** What one body holds of a budget, until it is given back. */
export class BodyShare {
  readonly #takeOfBudget: (bytes: number) => boolean
  #bytes = 0

  /** @param takeOfBudget - takes so many bytes, or gives them back where they are negative */
  constructor(takeOfBudget: (bytes: number) => boolean) {
    this.#takeOfBudget = takeOfBudget
  }

  /** Takes more bytes; false when the budget has not so many. */
  take(bytes: number): boolean {
    if (!this.#takeOfBudget(bytes)) return false
    this.#bytes += bytes
    return true
  }

  /** Gives everything back. */
  release(): void {
    this.#takeOfBudget(-this.#bytes)
    this.#bytes = 0
  }
}
