/** Callers that wait until a dispatcher has nothing left to do. */
export class IdleWaits {
  readonly #waiters: {
    readonly resolve: () => void
    readonly reject: (error: unknown) => void
  }[] = []

  get isEmpty(): boolean {
    return this.#waiters.length === 0
  }

  /** Resolves at the next {@link end}, rejects at the next {@link fail}. */
  wait(): Promise<void> {
    return new Promise((resolve, reject) => this.#waiters.push({ resolve, reject }))
  }

  /** Resolves all waits, because nothing is left to do. */
  end(): void {
    for (const { resolve } of this.#waiters.splice(0)) resolve()
  }

  /** Rejects all waits, because delivery has failed. */
  fail(error: unknown): void {
    for (const { reject } of this.#waiters.splice(0)) reject(error)
  }
}
