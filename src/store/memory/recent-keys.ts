/**
 * Remembers when keys were added: at least the last `keysMax` of them, and at most twice as many.
 * They are kept in two generations, and the older one goes as a whole, so that forgetting costs
 * nothing.
 */
export class RecentKeys {
  readonly #keysMax: number
  #newer = new Map<string, number>()
  #older = new Map<string, number>()

  constructor(keysMax: number) {
    this.#keysMax = keysMax
  }

  /** Adds a key; false when it is known already, added at the moment `seenSinceMs` or after. */
  add(key: string, { nowMs, seenSinceMs }: { nowMs: number; seenSinceMs: number }): boolean {
    const addedAtMs = this.#newer.get(key) ?? this.#older.get(key)
    if (addedAtMs !== undefined && addedAtMs >= seenSinceMs) return false
    if (this.#newer.size >= this.#keysMax) {
      this.#older = this.#newer
      this.#newer = new Map()
    }
    this.#older.delete(key)
    this.#newer.set(key, nowMs)
    return true
  }

  /** Forgets a key. */
  remove(key: string): void {
    this.#newer.delete(key)
    this.#older.delete(key)
  }

  /** Forgets keys that were added before a moment, `countMax` at the most; says how many it was. */
  forget({ beforeMs, countMax }: { beforeMs: number; countMax: number }): number {
    let forgotten = 0
    for (const keys of [this.#older, this.#newer]) {
      for (const [key, addedAtMs] of keys) {
        if (forgotten >= countMax) return forgotten
        if (addedAtMs >= beforeMs) continue
        keys.delete(key)
        forgotten++
      }
    }
    return forgotten
  }
}
