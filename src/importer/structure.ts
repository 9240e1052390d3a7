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

/** Finds the brackets, braces and commas of a JSON text outside of strings. */
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

  get inString(): boolean {
    return this.#inString
  }

  /** Returns the index of the next structural byte in the chunk, or its length. Pass every byte once, in order. */
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

  /** Ends an open string. It is broken, because JSON strings contain no line feeds. Later lines may be valid. */
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

/** The role of a structural byte: to separate parts, to end the array or object, or to belong to a part. */
export type StructuralRole = 'separator' | 'closer' | 'inner'

/**
 * Finds the parts of one array or object, or successive documents. In a part that begins with a brace, only braces
 * count; in one that begins with a bracket, only brackets. So broken JSON damages only its own part.
 */
export class Nesting {
  readonly #closer: number | undefined
  #opener = 0
  #depth = 0

  /** @param closer - the byte that ends the array or object; undefined for successive documents */
  constructor(closer?: number) {
    this.#closer = closer
  }

  /** How many brackets are open within the current part, counting only the kind that began it; 0 between parts. */
  get depth(): number {
    return this.#depth
  }

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
