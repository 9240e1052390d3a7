/** Words of 32 bits that a digest has. */
export const digestWords = 4

/** In a table with less room to spare a free place is far to seek. */
const slotsPerKey = 4 / 3

/**
 * When keys were added, by their digests: 32 bytes for each, outside of the heap, so that none of them is
 * copied or looked at when garbage is collected. A digest is evenly distributed, and its first word is
 * never 0.
 */
export class KeyTable {
  readonly #keysMax: number
  readonly #slots: number
  /** One after the other; zeros where a slot is free. */
  readonly #digests: Uint32Array
  /** Of the digest in the same slot; not a number once it is forgotten. */
  readonly #addedAtMs: Float64Array
  #takenSlots = 0

  constructor(keysMax: number) {
    this.#keysMax = keysMax
    this.#slots = Math.ceil(keysMax * slotsPerKey)
    this.#digests = new Uint32Array(this.#slots * digestWords)
    this.#addedAtMs = new Float64Array(this.#slots)
  }

  /** Whether as many keys were added as it has room for; those that are forgotten keep their place. */
  get isFull(): boolean {
    return this.#takenSlots >= this.#keysMax
  }

  /** When a key was added; not a number when it is not known. */
  addedAtMs(digest: Uint32Array): number {
    const slot = this.#find(digest)
    return this.#isFree(slot) ? NaN : (this.#addedAtMs[slot] ?? NaN)
  }

  /** Adds a key, or adds it again later; a new one only while the table is not full. */
  set(digest: Uint32Array, addedAtMs: number): void {
    const slot = this.#find(digest)
    if (this.#isFree(slot)) {
      this.#digests.set(digest, slot * digestWords)
      this.#takenSlots++
    }
    this.#addedAtMs[slot] = addedAtMs
  }

  /** Forgets a key. */
  remove(digest: Uint32Array): void {
    const slot = this.#find(digest)
    if (!this.#isFree(slot)) this.#addedAtMs[slot] = NaN
  }

  /** Forgets keys that were added before a moment, `countMax` at the most; says how many it was. */
  forget({ beforeMs, countMax }: { beforeMs: number; countMax: number }): number {
    let forgotten = 0
    for (let slot = 0; slot < this.#slots && forgotten < countMax; slot++) {
      if (this.#isFree(slot) || !((this.#addedAtMs[slot] ?? NaN) < beforeMs)) continue
      this.#addedAtMs[slot] = NaN
      forgotten++
    }
    return forgotten
  }

  /** Forgets all keys, and has room for new ones. */
  clear(): void {
    this.#digests.fill(0)
    this.#takenSlots = 0
  }

  /** The slot of a digest, or the free one where it would be: the first from where it belongs. */
  #find(digest: Uint32Array): number {
    let slot = (digest[1] ?? 0) % this.#slots
    while (!this.#isFree(slot) && !this.#holds(slot, digest))
      slot = slot + 1 < this.#slots ? slot + 1 : 0
    return slot
  }

  #isFree(slot: number): boolean {
    return this.#digests[slot * digestWords] === 0
  }

  #holds(slot: number, digest: Uint32Array): boolean {
    const start = slot * digestWords
    for (let word = 0; word < digestWords; word++) {
      if (this.#digests[start + word] !== digest[word]) return false
    }
    return true
  }
}
