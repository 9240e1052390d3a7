/** Maximum size of one row in memory, unless the caller allows more. The rest of a longer row is skipped. */
export const heldTextBytesMax: number = 1024 * 1024

/** A text, or its beginning if it was too long. */
export interface WholeText {
  /** Valid until the next text begins. */
  readonly bytes: Buffer
  readonly isCut: boolean
}

/** Collects a text that arrives in chunks. */
export class HeldText {
  readonly #bytesMax: number
  #bytes: Buffer = Buffer.alloc(0)
  #kept = 0
  /** The length of the text, including bytes above the maximum, which are not kept. */
  #length = 0

  constructor(bytesMax: number = heldTextBytesMax) {
    this.#bytesMax = bytesMax
  }

  get keptBytes(): number {
    return this.#kept
  }

  /** Adds a copy of the next bytes. */
  append(piece: Uint8Array): void {
    this.#length += piece.length
    const kept = piece.subarray(0, this.#bytesMax - this.#kept)
    this.#reserve(this.#kept + kept.length)
    this.#bytes.set(kept, this.#kept)
    this.#kept += kept.length
  }

  /** Returns the text so far, which is valid until the next `append`. */
  view(): WholeText {
    return { bytes: this.#bytes.subarray(0, this.#kept), isCut: this.#length > this.#kept }
  }

  /** Adds the last bytes, and returns the text. A text that lies within one chunk is not copied. */
  complete(rest: Buffer): WholeText {
    if (this.#length === 0 && rest.length <= this.#bytesMax) return { bytes: rest, isCut: false }
    this.append(rest)
    const text = this.view()
    this.#kept = 0
    this.#length = 0
    return text
  }

  #reserve(length: number): void {
    if (length <= this.#bytes.length) return
    const larger = Buffer.allocUnsafe(Math.min(length * 2, this.#bytesMax))
    larger.set(this.#bytes.subarray(0, this.#kept))
    this.#bytes = larger
  }
}
