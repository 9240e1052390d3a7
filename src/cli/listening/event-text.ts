import type { JsonObject } from '../../model/index.ts'
import {
  plainText,
  shortText,
  summarise,
  summaryText,
  type ReceivedEvent,
  type SignatureVerdict,
  type SummaryMemory,
  type SummaryPart,
  type SummaryRole,
} from '../../receiver/index.ts'
import type { Style } from '../output/style.ts'
import { formatJson } from '../output/json.ts'
import { formatTimeOfDay } from '../output/time.ts'

/** How a received request is shown to a person. */
export interface EventView {
  /** How text is set apart. */
  readonly style: Style
  /** What the summaries before saw. */
  readonly memory: SummaryMemory
  /** Whether the whole payload follows the line. */
  readonly verbose: boolean
  /** The terminal's width; undefined where lines may be of any length. */
  readonly columns: number | undefined
}

/** Below it there is no room for the time and the duration. */
const narrowColumns = 100
const summaryCharactersMin = 20

const signatureMarks: Readonly<
  Record<SignatureVerdict, { readonly text: string; readonly look: keyof Style }>
> = {
  valid: { text: '✔ signed', look: 'good' },
  invalid: { text: '✖ signature', look: 'bad' },
  missing: { text: '✖ unsigned', look: 'bad' },
  unchecked: { text: '- unchecked', look: 'faint' },
}

const looks: Readonly<Record<SummaryRole, keyof Style>> = {
  name: 'strong',
  id: 'name',
  key: 'faint',
  value: 'plain',
  old: 'faint',
  new: 'good',
  arrow: 'faint',
  muted: 'faint',
  warning: 'warning',
}

/**
 * One line for a received request, with the reason below it when something is wrong, and the payload
 * where it is wanted.
 */
export function eventText(event: ReceivedEvent, view: EventView): string {
  const lines = [mainLine(event, view)]
  if (event.reason !== null) lines.push(`  ${view.style.bad(`└ ${plainText(event.reason)}`)}`)
  if (view.verbose) lines.push(payload(event, view.style))
  return `${lines.join('\n')}\n`
}

function mainLine(event: ReceivedEvent, { style, memory, columns }: EventView): string {
  const isWide = columns === undefined || columns >= narrowColumns
  const mark = signatureMarks[event.signature]
  const number = `#${event.seq}`.padEnd(4)
  const type = (event.type ?? 'malformed').toUpperCase().padEnd(9)
  const user = shortText(event.userId ?? '-', isWide ? 36 : 16).padEnd(6)
  const time = formatTimeOfDay(event.atMs)
  const before = [
    ...(isWide ? [style.faint(time)] : []),
    number,
    paintType(event, type, style),
    style.name(user),
  ]
  const after = [
    style[mark.look](mark.text),
    paintStatus(event.status, style),
    ...(isWide ? [style.faint(`${event.durationMs}ms`)] : []),
  ]
  const parts = event.kind === 'webhook' ? summarise(event, memory) : malformedParts(event)
  const takenCharacters = isWide ? 40 + user.length : 36 + user.length
  const room = columns === undefined ? undefined : columns - takenCharacters
  return [...before, paintSummary(parts, room, style), ...after].join('  ')
}

function malformedParts(event: ReceivedEvent): readonly SummaryPart[] {
  return [
    { role: 'warning', text: event.code ?? '' },
    { role: 'muted', text: ` ${event.method} ${shortText(event.path)} ${event.bytes} bytes` },
  ]
}

function paintType(event: ReceivedEvent, text: string, style: Style): string {
  if (event.kind === 'malformed') return style.bad(text)
  return event.type === 'delete' ? style.warning(text) : style.strong(text)
}

function paintStatus(status: number, style: Style): string {
  return status < 300 ? style.good(String(status)) : style.bad(String(status))
}

/** Colours a summary; where there is no room for all of it, it is cut. */
function paintSummary(
  parts: readonly SummaryPart[],
  room: number | undefined,
  style: Style,
): string {
  const charactersMax = room === undefined ? Infinity : Math.max(room, summaryCharactersMin)
  if (summaryText(parts).length > charactersMax) {
    return shortText(summaryText(parts), charactersMax)
  }
  return parts.map(({ role, text }) => style[looks[role]](text)).join('')
}

function payload(event: ReceivedEvent, style: Style): string {
  const body: JsonObject | null = event.body
  const text = body === null ? plainText(event.rawBody.toString('utf8')) : formatJson(body, style)
  return `${text.replace(/^/gm, '      ')}\n`
}
