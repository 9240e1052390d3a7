import type { Stretch } from '../model/index.ts'
import type { Glob } from './glob.ts'
import { MatchError } from './match-error.ts'

/** Text as it was written: without quotes and backslashes, cut at the asterisks that have none. */
export interface Written extends Stretch {
  /** The literal pieces between the asterisks. */
  readonly glob: Glob
  /** Whether it was in quotes. */
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

  /** Where the next character is. */
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

  /** What stands from here to the next white space. */
  get rest(): string {
    return /^\S*/.exec(this.#text.slice(this.#at))?.[0] ?? ''
  }

  /** Goes to an offset that was passed before. */
  moveTo(offset: number): void {
    this.#at = offset
  }

  /** Passes white space; tells whether anything stands behind it. */
  skipGap(): boolean {
    while (this.next !== '' && space.test(this.next)) this.#at += 1
    return this.next !== ''
  }

  /** Passes a text when it stands here. */
  take(text: string): boolean {
    if (!this.#text.startsWith(text, this.#at)) return false
    this.#at += text.length
    return true
  }

  /**
   * Reads a text in single or double quotes, or one without that ends before white space or a
   * character that `ending` finds.
   *
   * @throws MatchError when quotes are not closed, or a backslash stands where it means nothing
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

  /** Refuses what stands at a place. */
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
      `Write another ${quote} where the text ends, or \\${quote} for the sign itself.`,
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
      'this backslash stands before nothing that needs it',
      'A backslash makes a quote, an asterisk, a space or another sign plain text; write \\\\ for itself.',
    )
  }
}
