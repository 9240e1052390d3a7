import {
  backslash,
  closeBrace,
  closeBracket,
  comma,
  lineFeed,
  openBrace,
  openBracket,
  quote,
} from './json-bytes.ts'

const isStructural = Uint8Array.from({ length: 256 }, (_, byte) =>
  [comma, openBracket, closeBracket, openBrace, closeBrace].includes(byte) ? 1 : 0,
)

/** Finds the brackets, braces and commas of a JSON text that stand outside of strings. */
export class StructureScanner {
  #line: number
  #inString = false
  #escaped = false

  /** @param line - the number of the line on which the text begins */
  constructor(line: number) {
    this.#line = line
  }

  get line(): number {
    return this.#line
  }

  /** Whether the bytes that were read end within a string. */
  get inString(): boolean {
    return this.#inString
  }

  /**
   * Reads on to the next structural byte. Every byte of the text is passed once, in order.
   *
   * @returns its index in the chunk, or the chunk's length when there is none
   */
  next(chunk: Buffer, from: number): number {
    for (let at = from; at < chunk.length; at++) {
      const byte = chunk[at] ?? 0
      if (byte === lineFeed) this.#endLine()
      else if (this.#inString) this.#readInString(byte)
      else if (byte === quote) this.#inString = true
      else if (isStructural[byte] === 1) return at
    }
    return chunk.length
  }

  /** JSON's strings end on their line: one that does not is broken, what follows need not be. */
  #endLine(): void {
    this.#line++
    this.#inString = false
    this.#escaped = false
  }

  #readInString(byte: number): void {
    if (this.#escaped) this.#escaped = false
    else if (byte === backslash) this.#escaped = true
    else if (byte === quote) this.#inString = false
  }
}

/**
 * What a structural byte is to the array or object around it: `separator` stands between its parts,
 * `closer` ends it, and `inner` belongs to a part.
 */
export type StructuralRole = 'separator' | 'closer' | 'inner'

/**
 * Tells the parts of one array or object apart, or documents that follow each other.
 *
 * A part that begins with a brace ends with its matching brace, whatever brackets stand between, and
 * the other way round. In sound JSON that is the same as matching both; in broken JSON it keeps the
 * damage within the part.
 */
export class Nesting {
  readonly #closer: number | undefined
  #opener = 0
  #depth = 0

  /** @param closer - the byte that ends the array or object; none around documents */
  constructor(closer?: number) {
    this.#closer = closer
  }

  /** How many arrays or objects of the part's own kind are open in it; 0 outside of them. */
  get depth(): number {
    return this.#depth
  }

  /** Reads the next structural byte. */
  read(byte: number): StructuralRole {
    if (this.#depth > 0) {
      if (byte === this.#opener) this.#depth++
      else if (byte === closerOf(this.#opener)) this.#depth--
      return 'inner'
    }
    if (byte === comma) return 'separator'
    if (byte === this.#closer) return 'closer'
    if (byte === openBracket || byte === openBrace) {
      this.#opener = byte
      this.#depth = 1
    }
    return 'inner'
  }
}

function closerOf(opener: number): number {
  return opener === openBrace ? closeBrace : closeBracket
}
