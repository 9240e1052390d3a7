import { lineFeed, quote } from './json-bytes.ts'

/** Finds the line feeds that end CSV records: those outside of quotes. A quoted cell begins with a quote. */
export class RecordScanner {
  readonly #isDelimiter = new Uint8Array(256)
  #line: number
  #isQuoted = false
  /** Whether a quote here would open a cell. True also after a closing quote: two quotes are an escaped one. */
  #mayOpen = true

  constructor(line: number) {
    this.#line = line
  }

  get line(): number {
    return this.#line
  }

  get isQuoted(): boolean {
    return this.#isQuoted
  }

  /** Sets the bytes that end cells. */
  setDelimiters(delimiters: readonly number[]): void {
    this.#isDelimiter.fill(0)
    for (const byte of delimiters) this.#isDelimiter[byte] = 1
  }

  /** Returns the index of the line feed that ends the record, or the chunk's length. Pass every byte once, in order. */
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
