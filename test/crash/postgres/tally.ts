/** Counts events, and lets callers wait for a count. */
export class Tally {
  readonly #counts = new Map<string, number>()
  #waiting: { readonly what: string; readonly count: number; readonly go: () => void }[] = []

  note(what: string): void {
    const count = this.count(what) + 1
    this.#counts.set(what, count)
    const isReached = (each: { what: string; count: number }): boolean =>
      each.what === what && count >= each.count
    const reached = this.#waiting.filter(isReached)
    if (reached.length === 0) return
    this.#waiting = this.#waiting.filter((each) => !isReached(each))
    for (const { go } of reached) go()
  }

  /** How often it has happened so far. */
  count(what: string): number {
    return this.#counts.get(what) ?? 0
  }

  /** Resolves once it has happened this often in total. */
  async reached(what: string, count: number): Promise<void> {
    if (this.count(what) >= count) return
    await new Promise<void>((go) => this.#waiting.push({ what, count, go }))
  }

  /** Resolves once it has happened this often from now on. */
  happened(what: string, count = 1): Promise<void> {
    return this.reached(what, this.count(what) + count)
  }

  /** All counts, for error messages. */
  get description(): string {
    return [...this.#counts].map(([what, count]) => `${what} ${count}`).join(', ')
  }
}
