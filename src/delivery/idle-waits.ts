/** Callers that wait until a dispatcher has nothing left to do. */
export class IdleWaits {
  readonly #waiters: {
    readonly resolve: () => void
    readonly reject: (error: unknown) => void
  }[] = []

  /** Whether no caller waits. */
  get isEmpty(): boolean {
    return this.#waiters.length === 0
  }

  /** Resolves, or rejects, with the next end. */
  wait(): Promise<void> {
    return new Promise((resolve, reject) => this.#waiters.push({ resolve, reject }))
  }

  /** Nothing is left to do. */
  end(): void {
    for (const { resolve } of this.#waiters.splice(0)) resolve()
  }

  /** Nothing will be done any more. */
  fail(error: unknown): void {
    for (const { reject } of this.#waiters.splice(0)) reject(error)
  }
}
