/** The first syntax error of a JSON text. */
export interface JsonError {
  /** From 1. */
  readonly line: number
  /** In UTF-16 units, from 1. */
  readonly column: number
  /** A common cause, as a sentence; undefined if none applies. */
  readonly hint: string | undefined
}

/** Matches a token with the white space before it: punctuation, a string, or another scalar. */
const token =
  /[ \t\n\r]*(?:([{}[\],:])|("(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*")|(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)(?![\w.]))/y

type TokenKind = '{' | '}' | '[' | ']' | ':' | ',' | 'string' | 'scalar'

type Expected = 'value' | 'value or ]' | 'key' | 'key or }' | 'colon' | 'comma or end' | 'nothing'

/**
 * Finds the first syntax error. The message of JSON.parse may lack the position, and quotes the text around
 * it, which may be a secret.
 *
 * @returns undefined for valid JSON
 */
export function findJsonError(text: string): JsonError | undefined {
  const open: string[] = []
  let expected: Expected = 'value'
  let offset = 0
  token.lastIndex = 0
  for (let match = token.exec(text); match !== null; match = token.exec(text)) {
    const kind = match[1] ?? (match[2] === undefined ? 'scalar' : 'string')
    const next = follow(expected, kind as TokenKind, open)
    if (next === undefined) break
    expected = next
    offset = token.lastIndex
  }
  const spaces = text.slice(offset).search(/[^ \t\n\r]|$/)
  const errorOffset = offset + spaces
  if (errorOffset === text.length && expected === 'nothing') return undefined
  return placeOf(text, errorOffset, expected)
}

/** Updates the open brackets. Returns what may follow the token; undefined if the token is an error. */
function follow(expected: Expected, kind: TokenKind, open: string[]): Expected | undefined {
  switch (expected) {
    case 'value':
      return beginValue(kind, open)
    case 'value or ]':
      return kind === ']' ? close(open) : beginValue(kind, open)
    case 'key':
      return kind === 'string' ? 'colon' : undefined
    case 'key or }':
      return kind === '}' ? close(open) : follow('key', kind, open)
    case 'colon':
      return kind === ':' ? 'value' : undefined
    case 'comma or end':
      return goOn(kind, open)
    case 'nothing':
      return undefined
  }
}

function beginValue(kind: TokenKind, open: string[]): Expected | undefined {
  if (kind === 'string' || kind === 'scalar') return afterValue(open)
  if (kind !== '{' && kind !== '[') return undefined
  open.push(kind)
  return kind === '{' ? 'key or }' : 'value or ]'
}

function goOn(kind: TokenKind, open: string[]): Expected | undefined {
  const isObject = open.at(-1) === '{'
  if (kind === ',') return isObject ? 'key' : 'value'
  return kind === (isObject ? '}' : ']') ? close(open) : undefined
}

function close(open: string[]): Expected {
  open.pop()
  return afterValue(open)
}

function afterValue(open: readonly string[]): Expected {
  return open.length === 0 ? 'nothing' : 'comma or end'
}

function placeOf(text: string, offset: number, expected: Expected): JsonError {
  const before = text.slice(0, offset)
  return {
    line: before.split('\n').length,
    column: offset - before.lastIndexOf('\n'),
    hint: hintOf(text.slice(offset, offset + 1), expected),
  }
}

function hintOf(symbol: string, expected: Expected): string | undefined {
  if (symbol === '') return 'The text ends too early.'
  if (symbol === '/') return 'JSON has no comments.'
  if (symbol === "'") return 'JSON allows double quotes only.'
  if (expected === 'comma or end') return 'A comma may be missing before it.'
  const isAfterComma = expected === 'key' || expected === 'value'
  if (isAfterComma && (symbol === '}' || symbol === ']')) return 'Remove the comma before it.'
  return undefined
}
