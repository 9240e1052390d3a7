/**
 * Remembers at least the last `keysMax` keys that were added, and at most twice as many: they are
 * kept in two generations, and the older one goes as a whole, so that forgetting costs nothing.
 */
export class RecentKeys {
  readonly #keysMax: number
  #newer = new Set<string>()
  #older = new Set<string>()

  constructor(keysMax: number) {
    this.#keysMax = keysMax
  }

  /** Adds a key; false when it is known already. */
  add(key: string): boolean {
    if (this.#newer.has(key) || this.#older.has(key)) return false
    if (this.#newer.size >= this.#keysMax) {
      this.#older = this.#newer
      this.#newer = new Set()
    }
    this.#newer.add(key)
    return true
  }
}
