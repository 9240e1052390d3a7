import { caretExcerpt, SettingError, type Stretch } from '../model/index.ts'

/** Details of an invalid match text. */
export interface MatchProblem extends Stretch {
  /** The whole text. */
  readonly text: string
  /** The mistake, without its final period. */
  readonly problem: string
  /** What is accepted instead, as sentences. */
  readonly advice: string
}

/**
 * Thrown for the text of an invalid match or expectation: `code` is `invalid_setting`, `setting` is `match`. The
 * message says at which character the mistake is. The hint says what is accepted there, and ends with the excerpt.
 */
export class MatchError extends SettingError {
  override readonly name: string = 'MatchError'
  /** Where the mistake begins in the text, in UTF-16 units from 0. */
  readonly offset: number
  /** The length of the mistake in UTF-16 units; 0 if something is missing there. */
  readonly length: number
  /** Two lines: the text around the mistake, and carets under the mistake. */
  readonly excerpt: string

  constructor(problem: MatchProblem) {
    const excerpt = caretExcerpt(problem.text, problem)
    super(
      'match',
      `Cannot read the match expression at character ${problem.offset + 1}: ${problem.problem}`,
      `${problem.advice}\n${excerpt}`,
    )
    this.offset = problem.offset
    this.length = problem.length
    this.excerpt = excerpt
  }
}
