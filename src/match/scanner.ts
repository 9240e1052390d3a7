import type { Stretch } from '../model/index.ts'
import type { Glob } from './glob.ts'
import { MatchError } from './match-error.ts'

/** Text that was read: without its quotes and backslashes, split at its unescaped asterisks. */
export interface Written extends Stretch {
  /** The literal pieces between the asterisks. */
  readonly glob: Glob
  /** Whether the text was in quotes. */
  readonly isQuoted: boolean
}

const space = /\s/
const letterOrDigit = /[\p{L}\p{N}]/u

/** Reads a text from left to right. All offsets are in UTF-16 units from 0. */
export class Scanner {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  /** The offset of the next character. */
  get at(): number {
    return this.#at
  }

  /** The next character; empty at the end. */
  get next(): string {
    return this.#text.charAt(this.#at)
  }

  /** Whether a term could end here. */
  get isAtGap(): boolean {
    return this.next === '' || space.test(this.next)
  }

  /** The text from here to the next white space. */
  get rest(): string {
    return /^\S*/.exec(this.#text.slice(this.#at))?.[0] ?? ''
  }

  /** Moves back to an earlier offset. */
  moveTo(offset: number): void {
    this.#at = offset
  }

  /** Skips white space. Returns whether any text is left. */
  skipGap(): boolean {
    while (this.next !== '' && space.test(this.next)) this.#at += 1
    return this.next !== ''
  }

  /** Skips the given text. Returns false, and skips nothing, if it doesn't come next. */
  take(text: string): boolean {
    if (!this.#text.startsWith(text, this.#at)) return false
    this.#at += text.length
    return true
  }

  /**
   * Reads a text in single or double quotes. A text without quotes ends before white space or a character that
   * `ending` matches.
   *
   * @throws MatchError if quotes are not closed, or a backslash escapes nothing
   */
  read(ending: RegExp): Written {
    const offset = this.#at
    const quote = this.next
    const isQuoted = quote === '"' || quote === "'"
    const glob = isQuoted
      ? this.#readQuoted(quote)
      : this.#readPieces((character) => space.test(character) || ending.test(character))
    return { glob, isQuoted, offset, length: this.#at - offset }
  }

  /** Throws a MatchError about a range of the text. */
  fail({ offset, length }: Stretch, problem: string, advice: string): never {
    throw new MatchError({ text: this.#text, offset, length, problem, advice })
  }

  #readQuoted(quote: string): Glob {
    const offset = this.#at
    this.#at += 1
    const glob = this.#readPieces((character) => character === quote)
    if (this.take(quote)) return glob
    return this.fail(
      { offset, length: 1 },
      'this quote is never closed',
      `Close it with ${quote} where the text ends, or write \\${quote} for the character itself.`,
    )
  }

  #readPieces(isEnd: (character: string) => boolean): Glob {
    const pieces: string[] = []
    let piece = ''
    while (this.next !== '' && !isEnd(this.next)) {
      if (this.next === '*') {
        pieces.push(piece)
        piece = ''
      } else {
        if (this.next === '\\') this.#passBackslash()
        piece += this.next
      }
      this.#at += 1
    }
    return [...pieces, piece]
  }

  #passBackslash(): void {
    const offset = this.#at
    this.#at += 1
    if (this.next !== '' && !letterOrDigit.test(this.next)) return
    this.fail(
      { offset, length: 1 },
      'this backslash escapes nothing',
      'A backslash escapes quotes, asterisks, spaces and other special characters; write \\\\ for the backslash itself.',
    )
  }
}
