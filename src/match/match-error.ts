import { caretExcerpt, SettingError, type Stretch } from '../model/index.ts'

/** Details of an invalid match text. */
export interface MatchProblem extends Stretch {
  /** The whole text. */
  readonly text: string
  /** The mistake, without its final period. */
  readonly problem: string
  /** The accepted values, as sentences. */
  readonly advice: string
}

/**
 * Thrown for an invalid text of a match or an expectation: `code` is `invalid_setting`, `setting` is `match`. The
 * message names the wrong character. The hint says what is accepted there, and ends with the excerpt.
 */
export class MatchError extends SettingError {
  override readonly name: string = 'MatchError'
  /** Where the wrong stretch begins in the text, in UTF-16 units from 0. */
  readonly offset: number
  /** The length of the wrong stretch in UTF-16 units; 0 if something is missing there. */
  readonly length: number
  /** Two lines: the text around the wrong stretch, and carets under the stretch. */
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
