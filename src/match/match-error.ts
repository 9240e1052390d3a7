import { caretExcerpt, SettingError, type Stretch } from '../model/index.ts'

/** Details of an unreadable match text. */
export interface MatchProblem extends Stretch {
  /** The whole text that was read. */
  readonly text: string
  /** The mistake, without its final period. */
  readonly problem: string
  /** The accepted values, as sentences. */
  readonly advice: string
}

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
    const excerpt = caretExcerpt(problem.text, problem)
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
