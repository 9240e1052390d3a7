import { caretExcerpt, SettingError, type TextRange } from '../model/index.ts'
import type { Glob } from './glob.ts'

/**
 * Thrown for an invalid match or expectation, with the `code` `invalid_setting` and the `setting` `match`. The message
 * has the position of the mistake. The hint says what is accepted there, and ends with the excerpt.
 */
export class MatchError extends SettingError {
  override readonly name: string = 'MatchError'
  /** The position of the mistake in the text, in UTF-16 units from 0. */
  readonly offset: number
  /** The length of the mistake in UTF-16 units; 0 if something is missing there. */
  readonly length: number
  /** Two lines: the text around the mistake, and carets under the mistake. */
  readonly excerpt: string

  constructor({ text, problem, advice, offset, length }: MatchProblem) {
    const excerpt = caretExcerpt(text, { offset, length })
    super(
      'match',
      `Cannot read the match expression at character ${offset + 1}: ${problem}`,
      `${advice}\n${excerpt}`,
    )
    this.offset = offset
    this.length = length
    this.excerpt = excerpt
  }
}

interface MatchProblem extends TextRange {
  readonly text: string
  readonly problem: string
  readonly advice: string
}

/** A text that was read, without its quotes and backslashes. */
export interface Written extends TextRange {
  /** The text, split at the asterisks that stand for any characters. */
  readonly glob: Glob
  /** The text in one piece, with its asterisks. */
  readonly text: string
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

  get at(): number {
    return this.#at
  }

  get next(): string {
    return this.#text.charAt(this.#at)
  }

  get isAtGap(): boolean {
    return this.next === '' || space.test(this.next)
  }

  get rest(): string {
    return /^\S*/.exec(this.#text.slice(this.#at))?.[0] ?? ''
  }

  /** Reads up to the next white space. */
  takeWord(): TextRange & { readonly text: string } {
    const [offset, text] = [this.#at, this.rest]
    this.#at += text.length
    return { text, offset, length: text.length }
  }

  /** Refuses the next character, or what is missing there. */
  failHere(problem: string, advice: string): never {
    return this.fail({ offset: this.#at, length: 1 }, problem, advice)
  }

  moveTo(offset: number): void {
    this.#at = offset
  }

  skipGap(): boolean {
    while (this.next !== '' && space.test(this.next)) this.#at += 1
    return this.next !== ''
  }

  /** Skips a text. Returns false, without skipping anything, if a different text comes next. */
  take(text: string): boolean {
    if (!this.#text.startsWith(text, this.#at)) return false
    this.#at += text.length
    return true
  }

  /**
   * Reads a text in single or double quotes, or without quotes. A text without quotes ends before white space or a
   * character that `ending` matches.
   *
   * @throws MatchError if a quote is not closed, or a backslash is followed by a letter, a digit or nothing
   */
  read(ending: RegExp): Written {
    const offset = this.#at
    const quote = this.next
    const isQuoted = quote === '"' || quote === "'"
    const glob = isQuoted
      ? this.#readQuoted(quote)
      : this.#readPieces((character) => space.test(character) || ending.test(character))
    return { glob, text: glob.join('*'), isQuoted, offset, length: this.#at - offset }
  }

  fail({ offset, length }: TextRange, problem: string, advice: string): never {
    throw new MatchError({ text: this.#text, offset, length, problem, advice })
  }

  #readQuoted(quote: string): Glob {
    const offset = this.#at
    this.#at += 1
    const glob = this.#readPieces((character) => character === quote)
    if (this.take(quote)) return glob
    return this.fail(
      { offset, length: 1 },
      'this quote is not closed',
      `Add ${quote} where the text ends, or write \\${quote} for the character itself.`,
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
        if (this.next === '\\') this.#skipBackslash()
        piece += this.next
      }
      this.#at += 1
    }
    return [...pieces, piece]
  }

  #skipBackslash(): void {
    const offset = this.#at
    this.#at += 1
    if (this.next !== '' && !letterOrDigit.test(this.next)) return
    this.fail(
      { offset, length: 1 },
      'this backslash does not escape anything',
      'A backslash can escape quotes, asterisks, spaces and other special characters. Write \\\\ for a backslash.',
    )
  }
}
