import { parseTree, printParseErrorCode, type Node, type ParseError } from 'jsonc-parser'
import { shownValue } from './problem.ts'

/** The value of a text, or the position of its first mistake. */
export type JsonOutcome =
  | { readonly kind: 'value'; readonly value: unknown }
  | {
      readonly kind: 'invalid'
      readonly line: number
      /** In UTF-16 code units, counting from 1. */
      readonly column: number
      readonly hint: string | undefined
    }

/** Reads JSON that may have comments and trailing commas. Never quotes the text, which may contain secrets. */
export function readJson(text: string): JsonOutcome {
  const errors: ParseError[] = []
  try {
    const root = parseTree(text, errors, { allowTrailingComma: true })
    const [error] = errors
    if (error !== undefined) return invalidAt(text, error.offset, hintOf(text, error))
    const key = root && repeatedKey(root)
    if (key !== undefined) {
      const hint = `The key ${shownValue(key.value)} is there twice. Delete one of them.`
      return invalidAt(text, key.offset, hint)
    }
    return { kind: 'value', value: root && valueOf(root) }
  } catch (error) {
    // The parser is recursive, so deep nesting exceeds the stack.
    if (!(error instanceof RangeError)) throw error
    return { kind: 'invalid', line: 1, column: 1, hint: 'It is nested too deeply.' }
  }
}

/** Returns the first key that an object has twice. */
function repeatedKey({ type, children = [] }: Node): Node | undefined {
  const seen = new Set<unknown>()
  for (const child of children) {
    const [key] = type === 'object' ? (child.children ?? []) : []
    if (key !== undefined && seen.has(key.value)) return key
    seen.add(key?.value)
    const found = repeatedKey(child)
    if (found !== undefined) return found
  }
  return undefined
}

/** Builds values as JSON.parse does: `__proto__` is an ordinary key. */
function valueOf({ type, value, children = [] }: Node): unknown {
  if (type === 'array') return children.map(valueOf)
  if (type !== 'object') return value as unknown
  return Object.fromEntries(
    children.map(({ children: [key, inner] = [] }) => [key?.value, inner && valueOf(inner)]),
  )
}

function invalidAt(text: string, offset: number, hint: string | undefined): JsonOutcome {
  const before = text.slice(0, offset)
  const line = before.split('\n').length
  const column = offset - before.lastIndexOf('\n')
  return { kind: 'invalid', line, column, hint }
}

function hintOf(text: string, { error, offset }: ParseError): string | undefined {
  if (text.slice(offset).trim() === '') return 'The text ends too early.'
  if (text[offset] === "'") return 'JSON allows double quotes only.'
  return hints[printParseErrorCode(error)]
}

const hints: Readonly<Partial<Record<ReturnType<typeof printParseErrorCode>, string>>> = {
  CommaExpected: 'A comma may be missing before this point.',
  UnexpectedEndOfComment: 'The comment is never closed.',
}
