import { EvrouteError, plainText, shortText } from '../../model/index.ts'

/** The keys and indexes that lead to a value in the document. */
export type DocumentPath = readonly (string | number)[]

/** A value and its path in the document. */
export interface Placed<Value = unknown> {
  readonly path: DocumentPath
  readonly value: Value
}

/** Finds values below a value. In the pattern, a star stands for any key or index. */
export function valuesAt({ path, value }: Placed, pattern: DocumentPath): readonly Placed[] {
  const [key, ...rest] = pattern
  if (key === undefined) return [{ path, value }]
  if (typeof value !== 'object' || value === null) return []
  const keys = key === '*' ? keysOf(value) : [key]
  return keys
    .filter((each) => Object.hasOwn(value, each))
    .flatMap((each) => {
      const inner = (value as Readonly<Record<string | number, unknown>>)[each]
      return valuesAt({ path: [...path, each], value: inner }, rest)
    })
}

function keysOf(value: object): DocumentPath {
  return Array.isArray(value) ? [...value.keys()] : Object.keys(value)
}

/** Finds the strings below a value, like {@link valuesAt}. */
export function textsAt(from: Placed, pattern: DocumentPath): readonly Placed<string>[] {
  return valuesAt(from, pattern).filter(
    (found): found is Placed<string> => typeof found.value === 'string',
  )
}

/** A {@link ConfigurationProblem} whose path is not formatted yet. */
export interface PlacedProblem {
  readonly path: DocumentPath
  /** A sentence without its final period: what cannot be used, and what is accepted. */
  readonly message: string
  readonly hint?: string | undefined
}

/** A wrong setting of a configuration, and what to do about it. */
export interface ConfigurationProblem {
  /** A path such as `destinations[0].endpoints[1].url`; empty for the file as a whole. */
  readonly path: string
  /** A sentence without its final period: what cannot be used, and what is accepted. */
  readonly message: string
  /** What to do, as a sentence, unless the message says it. */
  readonly hint: string | undefined
}

/** Thrown for an invalid configuration: `code` is `invalid_setting`. */
export class ConfigurationError extends EvrouteError {
  override readonly name: string = 'ConfigurationError'
  readonly problems: readonly ConfigurationProblem[]
  /** The first line of the message, which counts the problems. The message then has a line for each problem. */
  readonly summary: string

  /** @param name - the path of the file as the user wrote it, or a name for the configuration */
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

/** Formats a problem for a terminal. Removes control characters, and indents further lines of the hint. */
export function problemText({ path, message, hint }: ConfigurationProblem): string {
  const where = path === '' ? '' : `${path}: `
  if (hint === undefined) return plainText(`${where}${message}`)
  const [advice, ...excerpt] = hint.split('\n')
  return [`${where}${message}. ${advice}`, ...excerpt].map(plainText).join('\n    ')
}

/** Formats a path: `sources[0].id`, `headers["X-Team"]`. */
export function formatPath(path: DocumentPath): string {
  const text = path.map((part) => {
    if (typeof part === 'number') return `[${part}]`
    return /^[$\w]+$/.test(part) ? `.${part}` : `[${JSON.stringify(part)}]`
  })
  return text.join('').replace(/^\./, '')
}

/** Formats a value of the document for a message: short, and safe to print. */
export function shownValue(value: unknown): string {
  // An object or list in the wrong place may contain secrets.
  if (Array.isArray(value))
    return value.length === 0 ? 'an empty list' : `a list of length ${value.length}`
  if (typeof value === 'object' && value !== null) return 'an object'
  return shortText(JSON.stringify(value))
}
