/** Resolves after a number of steps. */
export class Countdown {
  /** Resolves after the last step; rejects with the first failure. */
  readonly over: Promise<void>
  #left: number
  #resolve!: () => void
  #reject!: (error: unknown) => void

  constructor(count: number) {
    this.#left = count
    this.over = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
    // It may reject before anything awaits it.
    this.over.catch(() => undefined)
  }

  step(): void {
    this.#left--
    if (this.#left === 0) this.#resolve()
  }

  /** Rejects {@link over}. */
  fail(error: unknown): void {
    this.#reject(error)
  }
}
