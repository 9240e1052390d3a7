/** How JSON is written. */
export interface JsonStyle {
  /** Between two members. */
  readonly comma: ',' | ', '
  /** Between a key and its value. */
  readonly colon: ':' | ': '
  /** Spaces per level, each member on a line of its own; undefined for everything on one line. */
  readonly indent?: number
  /** Which characters are escaped beside those that must be: none of those that JSON is made of. */
  readonly escaped?: RegExp
  /** Whether a slash is written as `\/`. */
  readonly slashes?: boolean
}

/** A string, a sign, or a number or word. */
const token = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]|[^\s"{}[\],:]+/g

/** The strings, signs, numbers and words of valid JSON, its strings with no more escapes than needed. */
export function tokensOf(json: string): readonly string[] {
  const tokens = json.match(token) ?? []
  // Other encoders escape other characters. A string without escapes stays as it is.
  return tokens.map((part) => (part.includes('\\') ? JSON.stringify(JSON.parse(part)) : part))
}

/** Indentation may make a text this much longer. Deep nesting would make it grow with the square of its depth. */
const indentedGrowthMax = 16
const indentedCharactersMin = 64 * 1024

/**
 * Writes the tokens of valid JSON in a style. The order of keys, the digits of numbers and keys that
 * come twice stay as they are, other than through `JSON.parse`.
 *
 * @returns undefined if the indented text would be more than 16 times as long, and longer than 64 Ki characters
 */
export function writeJson(tokens: readonly string[], style: JsonStyle): string | undefined {
  const { indent, escaped, slashes = false } = style
  const text = indent === undefined ? onOneLine(tokens, style) : indented(tokens, indent)
  if (text === undefined) return undefined
  const withSlashes = slashes ? text.replaceAll('/', '\\/') : text
  return escaped === undefined ? withSlashes : withSlashes.replace(escaped, unicodeEscape)
}

/** The same value with the keys of every object in the order of their code units. */
export function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([key, inner]) => [key, sortKeys(inner)] as const)
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)))
}

function onOneLine(tokens: readonly string[], { comma, colon }: JsonStyle): string {
  if (comma === ',' && colon === ':') return tokens.join('')
  return tokens.map((part) => (part === ',' ? comma : part === ':' ? colon : part)).join('')
}

function indented(tokens: readonly string[], indent: number): string | undefined {
  const charactersMin = tokens.reduce((sum, { length }) => sum + length, 0)
  let room = Math.max(charactersMin * indentedGrowthMax, indentedCharactersMin)
  const parts: string[] = []
  let depth = 0
  let last = ''
  const lineBreak = (): string => `\n${' '.repeat(depth * indent)}`
  for (const part of tokens) {
    const isStart = last === '{' || last === '['
    const isEnd = part === '}' || part === ']'
    if (isEnd) depth -= 1
    // An empty object or list stays on its line.
    if (last === ',' || isStart !== isEnd) {
      room -= depth * indent
      if (room < 0) return undefined
      parts.push(lineBreak())
    }
    parts.push(part === ':' ? ': ' : part)
    if (part === '{' || part === '[') depth += 1
    last = part
  }
  return parts.join('')
}

function unicodeEscape(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}
