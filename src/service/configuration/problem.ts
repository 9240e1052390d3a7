import { EvrouteError, plainText, shortText } from '../../model/index.ts'

/** The keys and indexes that lead to a place in the document. */
export type DocumentPath = readonly (string | number)[]

/** One thing that is wrong at a place of the document. */
export interface PlacedProblem {
  /** The place. */
  readonly path: DocumentPath
  /** What cannot be used and what is accepted, as a sentence without its final period. */
  readonly message: string
  /** What to do about it, as a sentence. */
  readonly hint?: string | undefined
}

/** One thing that is wrong with a configuration. */
export interface ConfigurationProblem {
  /** Where, such as `destinations[0].endpoints[1].url`; empty for the file as a whole. */
  readonly path: string
  /** What cannot be used and what is accepted, as a sentence without its final period. */
  readonly message: string
  /** What to do about it, as a sentence; undefined where the message already says so. */
  readonly hint: string | undefined
}

/** Thrown where a configuration is needed and the file has none: `code` is `invalid_setting`. */
export class ConfigurationError extends EvrouteError {
  override readonly name: string = 'ConfigurationError'
  /** All that is wrong. */
  readonly problems: readonly ConfigurationProblem[]
  /** The first line of the message, which says how much is wrong; the others are the problems. */
  readonly summary: string

  /** @param name - the configuration's file, as the user knows it, or what else it is called */
  constructor(name: string, problems: readonly ConfigurationProblem[]) {
    const { length } = problems
    const count = length === 1 ? '1 setting is wrong' : `${length} settings are wrong`
    const lines = problems.map((problem) => `\n  ${problemText(problem)}`)
    const summary = `Cannot use ${name}: ${count}`
    super({ code: 'invalid_setting', message: `${summary}${lines.join('')}` })
    this.problems = problems
    this.summary = summary
  }
}

/** A problem that is safe to print: one line, and two of an excerpt where its hint ends in one. */
export function problemText({ path, message, hint }: ConfigurationProblem): string {
  const where = path === '' ? '' : `${path}: `
  if (hint === undefined) return plainText(`${where}${message}`)
  const [advice, ...excerpt] = hint.split('\n')
  return [`${where}${message}. ${advice}`, ...excerpt].map(plainText).join('\n    ')
}

/** A place in the document as it is written in problems: `sources[0].id`, `headers["X-Team"]`. */
export function formatPath(path: DocumentPath): string {
  const text = path.map((part) => {
    if (typeof part === 'number') return `[${part}]`
    return /^[$\w]+$/.test(part) ? `.${part}` : `[${JSON.stringify(part)}]`
  })
  return text.join('').replace(/^\./, '')
}

/** A value of the document in a problem: short, and safe to print. */
export function shownValue(value: unknown): string {
  // Where a whole section stands in the wrong place, what is in it may be secret.
  if (Array.isArray(value))
    return value.length === 0 ? 'an empty list' : `a list of ${value.length}`
  if (typeof value === 'object' && value !== null) return 'an object'
  return shortText(JSON.stringify(value))
}
