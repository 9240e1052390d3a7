/** How to format JSON: separators, indentation and escapes. */
export interface JsonStyle {
  readonly comma: ',' | ', '
  readonly colon: ':' | ': '
  /** Spaces per level, with each member on its own line; undefined for a single line. */
  readonly indent?: number
  /** Characters to escape although JSON does not require it. Must not match JSON's own syntax. */
  readonly escaped?: RegExp
  /** Whether to write a slash as `\/`. */
  readonly slashes?: boolean
}

/** A string, a punctuation mark, a number, or a literal such as `true`. */
const token = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]|[^\s"{}[\],:]+/g

/** Splits valid JSON into strings, punctuation, numbers and literals. Removes unnecessary escapes from strings. */
export function tokensOf(json: string): readonly string[] {
  const tokens = json.match(token) ?? []
  // Only strings with escapes need the slower path.
  return tokens.map((part) => (part.includes('\\') ? JSON.stringify(JSON.parse(part)) : part))
}

/** How many times longer indentation may make a text. Without a limit, deep nesting would add too many spaces. */
const indentedGrowthMax = 16
/** Below this length, {@link indentedGrowthMax} does not apply. */
const indentedCharactersMin = 64 * 1024

/**
 * Writes the tokens of valid JSON in a style. Unlike JSON.parse and JSON.stringify, it keeps the order of
 * keys, the digits of numbers, and duplicate keys.
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

/** Copies a value, with the keys of every object in the order that `order` returns. */
export function reorderKeys(value: unknown, order: (keys: string[]) => string[]): unknown {
  if (Array.isArray(value)) return value.map((element) => reorderKeys(element, order))
  if (typeof value !== 'object' || value === null) return value
  const members = value as Readonly<Record<string, unknown>>
  const entries = order(Object.keys(value)).map((key) => [key, reorderKeys(members[key], order)])
  return Object.fromEntries(entries)
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
    // An empty object or list stays on one line.
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
