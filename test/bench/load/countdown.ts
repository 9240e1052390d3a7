/** Resolves once so many things have happened. */
export class Countdown {
  /** Rejects with the first failure that is told. */
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
    // Nobody may wait for it yet when it fails.
    this.over.catch(() => undefined)
  }

  /** One has happened. */
  step(): void {
    this.#left--
    if (this.#left === 0) this.#resolve()
  }

  /** Not all of them will. */
  fail(error: unknown): void {
    this.#reject(error)
  }
}
