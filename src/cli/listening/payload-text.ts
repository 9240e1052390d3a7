import { shortText, type JsonValue } from '../../model/index.ts'
import type { ReceivedEvent } from '../../receiver/index.ts'
import { formatCount } from '../output/numbers.ts'
import type { Style } from '../output/style.ts'

/** Lines of a payload that are shown by default. */
const linesMaxDefault = 200
/** Characters shown of a key, of a value, or of a payload that is not JSON. */
const charactersMax = 2_000

/** A payload for a person: indented, coloured, safe to print, and limited in length. */
export function payloadText(
  { body, rawBody }: Pick<ReceivedEvent, 'body' | 'rawBody'>,
  style: Style,
  linesMax: number = linesMaxDefault,
): string {
  if (body === null) return shortText(rawBody.toString('utf8'), charactersMax)
  const lines: string[] = []
  for (const line of linesOf(body, { indent: '', label: '', comma: '' }, style)) {
    if (lines.length === linesMax) break
    lines.push(line)
  }
  const left = lineCount(body) - lines.length
  if (left > 0) {
    lines.push(style.faint(`… and ${formatCount(left)} more ${left === 1 ? 'line' : 'lines'}`))
  }
  return lines.join('\n')
}

/** The text around a value. */
interface Surroundings {
  readonly indent: string
  readonly label: string
  readonly comma: string
}

/** A generator, so that hidden lines are never formatted. */
function* linesOf(
  value: JsonValue | undefined,
  { indent, label, comma }: Surroundings,
  style: Style,
): Generator<string> {
  const members = membersOf(value)
  if (members === undefined) {
    yield `${indent}${label}${scalarText(value, style)}${comma}`
    return
  }
  const [open, close] = Array.isArray(value) ? '[]' : '{}'
  if (members.length === 0) {
    yield `${indent}${label}${open}${close}${comma}`
    return
  }
  yield `${indent}${label}${open}`
  for (const [index, [key, member]] of members.entries()) {
    const surroundings = {
      indent: `${indent}  `,
      label: Array.isArray(value) ? '' : `${style.name(literal(key))}: `,
      comma: index < members.length - 1 ? ',' : '',
    }
    yield* linesOf(member, surroundings, style)
  }
  yield `${indent}${close}${comma}`
}

function lineCount(value: JsonValue | undefined): number {
  const members = membersOf(value)
  if (members === undefined || members.length === 0) return 1
  return members.reduce((count, [, member]) => count + lineCount(member), 2)
}

function membersOf(value: JsonValue | undefined): [string, JsonValue | undefined][] | undefined {
  return typeof value === 'object' && value !== null ? Object.entries(value) : undefined
}

function scalarText(value: JsonValue | undefined, style: Style): string {
  return style[typeof value === 'string' ? 'good' : 'warning'](literal(value))
}

function literal(value: JsonValue | undefined): string {
  return shortText(JSON.stringify(value), charactersMax)
}
