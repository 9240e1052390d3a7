import { shortText, type JsonValue } from '../../model/index.ts'
import type { ReceivedEvent } from '../../receiver/index.ts'
import { countOf } from './numbers.ts'
import type { Style } from './style.ts'

/** Formats JSON for a terminal: indented, coloured, and safe to print. */
export function formatJson(value: JsonValue, style: Style): string {
  return [...jsonLines(value, { style, charactersMax: Infinity })].join('\n')
}

interface JsonView {
  readonly style: Style
  /** Maximum characters of a key or a value. */
  readonly charactersMax: number
}

/** Yields one line at a time, so that a caller can stop before the rest is formatted. */
function* jsonLines(
  value: JsonValue | undefined,
  view: JsonView,
  { indent, label, comma } = { indent: '', label: '', comma: '' },
): Generator<string> {
  const { style, charactersMax } = view
  const literal = (part: JsonValue | undefined): string =>
    shortText(JSON.stringify(part), charactersMax)
  const members = membersOf(value)
  if (members === undefined) {
    const look = typeof value === 'string' ? 'good' : 'warning'
    yield `${indent}${label}${style[look](literal(value))}${comma}`
    return
  }
  const [open = '', close = ''] = Array.isArray(value) ? '[]' : '{}'
  if (members.length === 0) {
    yield `${indent}${label}${open}${close}${comma}`
    return
  }
  yield `${indent}${label}${open}`
  for (const [index, [key, member]] of members.entries()) {
    yield* jsonLines(member, view, {
      indent: `${indent}  `,
      label: Array.isArray(value) ? '' : `${style.name(literal(key))}: `,
      comma: index < members.length - 1 ? ',' : '',
    })
  }
  yield `${indent}${close}${comma}`
}

function jsonLineCount(value: JsonValue | undefined): number {
  const members = membersOf(value)
  if (members === undefined || members.length === 0) return 1
  return members.reduce((count, [, member]) => count + jsonLineCount(member), 2)
}

function membersOf(value: JsonValue | undefined): [string, JsonValue | undefined][] | undefined {
  return typeof value === 'object' && value !== null ? Object.entries(value) : undefined
}

/** Maximum characters of a key, a value, or a payload that is not JSON. */
const charactersMax = 2_000

/** Formats a payload for a terminal: indented, coloured, safe to print, and limited in length. */
export function payloadText(
  { body, rawBody }: Pick<ReceivedEvent, 'body' | 'rawBody'>,
  style: Style,
  linesMax = 200,
): string {
  if (body === null) return shortText(rawBody.toString('utf8'), charactersMax)
  const lines: string[] = []
  for (const line of jsonLines(body, { style, charactersMax })) {
    if (lines.length === linesMax) break
    lines.push(line)
  }
  const omitted = jsonLineCount(body) - lines.length
  if (omitted > 0) lines.push(style.faint(`… and ${countOf(omitted, 'more line')}`))
  return lines.join('\n')
}
