import { hash } from 'node:crypto'
import { toStored } from '../stored-text.ts'
import { digestWords, KeyTable } from './key-table.ts'

/**
 * Remembers when keys were added: at least the last `keysMax` of them, and at most twice as many.
 * They are kept in two generations, and the older one goes as a whole, so that forgetting costs
 * nothing.
 *
 * Half of a SHA-256 stands for a key, however long it is: no two are the same by chance, and nobody can
 * make two that are.
 */
export class RecentKeys {
  #newer: KeyTable
  #older: KeyTable
  /** Of the key at hand. There is one for every event, and new arrays would cost more than the digest. */
  readonly #digest = new Uint32Array(digestWords)
  readonly #digestBytes = Buffer.from(this.#digest.buffer)

  constructor(keysMax: number) {
    this.#newer = new KeyTable(keysMax)
    this.#older = new KeyTable(keysMax)
  }

  /** Adds a key; false when it is known already, added at the moment `seenSinceMs` or after. */
  add(key: string, { nowMs, seenSinceMs }: { nowMs: number; seenSinceMs: number }): boolean {
    const digest = this.#digestOf(key)
    for (const keys of [this.#newer, this.#older]) {
      if (keys.addedAtMs(digest) >= seenSinceMs) return false
    }
    if (this.#newer.isFull) this.#turnOver()
    this.#older.remove(digest)
    this.#newer.set(digest, nowMs)
    return true
  }

  /** Forgets a key. */
  remove(key: string): void {
    const digest = this.#digestOf(key)
    this.#newer.remove(digest)
    this.#older.remove(digest)
  }

  /** Forgets keys that were added before a moment, `countMax` at the most; says how many it was. */
  forget({ beforeMs, countMax }: { beforeMs: number; countMax: number }): number {
    const forgotten = this.#older.forget({ beforeMs, countMax })
    return forgotten + this.#newer.forget({ beforeMs, countMax: countMax - forgotten })
  }

  #turnOver(): void {
    const oldest = this.#older
    oldest.clear()
    this.#older = this.#newer
    this.#newer = oldest
  }

  #digestOf(key: string): Uint32Array {
    this.#digestBytes.write(hash('sha256', toStored(key), 'binary'), 'binary')
    // The first word is never 0.
    this.#digest[0] = (this.#digest[0] ?? 0) | 1
    return this.#digest
  }
}
