import { SettingError } from '../model/index.ts'

/** A stretch of a text, in UTF-16 units from its beginning. */
export interface Stretch {
  /** Where it begins; the length of the text when something is missing at its end. */
  readonly offset: number
  /** How long it is; 0 when something is missing there. */
  readonly length: number
}

/** Details of an unreadable match text. */
export interface MatchProblem extends Stretch {
  /** The whole text that was read. */
  readonly text: string
  /** The mistake, without its final period. */
  readonly problem: string
  /** The accepted values, as sentences. */
  readonly advice: string
}

/** Signs of the text that are shown before and behind the bad place. */
const shownBefore = 60
const shownBehind = 30

/** Characters that would break or shift the two lines of an excerpt. */
const unprintable = /[\p{Cc}\p{Cs}\p{Bidi_Control}\u2028\u2029]/gu

/**
 * Thrown where the text of a match or of an expectation cannot be understood: `code` is
 * `invalid_setting`, `setting` is `match`. The message names the bad place, the hint says what is
 * accepted there and ends in the excerpt.
 */
export class MatchError extends SettingError {
  override readonly name: string = 'MatchError'
  /** Where the bad place begins in the text, in UTF-16 units from 0. */
  readonly offset: number
  /** How many UTF-16 units are bad; 0 when something is missing there. */
  readonly length: number
  /** Two lines: the text around the bad place, and carets under it. */
  readonly excerpt: string

  constructor(problem: MatchProblem) {
    const excerpt = excerptOf(problem)
    super(
      'match',
      `Cannot read the match at character ${problem.offset + 1}: ${problem.problem}`,
      `${problem.advice}\n${excerpt}`,
    )
    this.offset = problem.offset
    this.length = problem.length
    this.excerpt = excerpt
  }
}

function excerptOf({ text, offset, length }: MatchProblem): string {
  const before = signs(text.slice(0, offset))
  const bad = signs(text.slice(offset, offset + length)).slice(0, shownBefore)
  const behind = signs(text.slice(offset + length))
  const start = [...(before.length > shownBefore ? ['…'] : []), ...before.slice(-shownBefore)]
  const end = [...behind.slice(0, shownBehind), ...(behind.length > shownBehind ? ['…'] : [])]
  const line = [...start, ...bad, ...end].join('')
  return `  ${line}\n  ${' '.repeat(start.length)}${'^'.repeat(Math.max(bad.length, 1))}`
}

/** The characters of a text, each as wide as one column. */
function signs(text: string): readonly string[] {
  return Array.from(text.replace(/\s/g, ' ').replace(unprintable, '\ufffd'))
}
