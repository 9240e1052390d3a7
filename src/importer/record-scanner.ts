import { lineFeed, quote } from './json-bytes.ts'

/**
 * Finds the ends of CSV records: line feeds outside of quotes. A quote opens a cell only at its beginning;
 * elsewhere it is a mistake of that record.
 */
export class RecordScanner {
  readonly #isDelimiter = new Uint8Array(256)
  #line: number
  #isQuoted = false
  /** Whether a quote would open a cell; or, after one that closed it, would be an escaped quote. */
  #mayOpen = true

  /** @param line - the number of the line on which the text begins */
  constructor(line: number) {
    this.#line = line
  }

  get line(): number {
    return this.#line
  }

  /** Whether the bytes that were read end within quotes. */
  get isQuoted(): boolean {
    return this.#isQuoted
  }

  /** Sets the bytes that end cells. */
  setDelimiters(delimiters: readonly number[]): void {
    this.#isDelimiter.fill(0)
    for (const byte of delimiters) this.#isDelimiter[byte] = 1
  }

  /**
   * Reads on to the end of the record. Every byte of the text is passed once, in order.
   *
   * @returns the index of its line feed in the chunk, or the chunk's length when it goes on
   */
  next(chunk: Buffer, from: number): number {
    for (let at = from; at < chunk.length; at++) {
      const byte = chunk[at] ?? 0
      if (byte === lineFeed) this.#line++
      if (byte === quote && (this.#isQuoted || this.#mayOpen)) {
        this.#isQuoted = !this.#isQuoted
        this.#mayOpen = true
      } else if (!this.#isQuoted) {
        this.#mayOpen = byte === lineFeed || this.#isDelimiter[byte] === 1
        if (byte === lineFeed) return at
      }
    }
    return chunk.length
  }
}
