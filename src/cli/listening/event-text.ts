import { plainText, shortText, columnsOf, cutToColumns, padToColumns } from '../../model/index.ts'
import {
  snippets,
  summarise,
  summaryText,
  type ReceivedEvent,
  type SignatureVerdict,
  type SummaryMemory,
  type SummaryPart,
  type SummaryRole,
  type WithheldReason,
} from '../../receiver/index.ts'
import type { Style } from '../output/style.ts'
import { formatTimeOfDay } from '../output/time.ts'
import { forwardLines } from './forward-text.ts'
import { payloadText } from './payload-text.ts'

/** How a received request is shown to a person. */
export interface EventView {
  /** How text is set apart. */
  readonly style: Style
  /** What the summaries before saw. */
  readonly memory: SummaryMemory
  /** Whether the payload follows the line, up to 200 lines of it. */
  readonly verbose: boolean
  /** The terminal's width; undefined where lines may be of any length. */
  readonly columns: number | undefined
  /** Whether requests are forwarded or given to a program; not by default. */
  readonly passesOn?: boolean
}

/** Below it there is no room for the time and the duration. */
const wideColumns = 100
/** Below it there is no room for long ids, nor for the signature's verdict in words. */
const narrowColumns = 80
/** Below it there is no room for whom it is about, nor for what was injected. */
const narrowestColumns = 60
const summaryColumnsMin = 8

const signatureMarks: Readonly<
  Record<
    SignatureVerdict,
    { readonly sign: string; readonly words: string; readonly look: keyof Style }
  >
> = {
  valid: { sign: '✔', words: 'signed', look: 'good' },
  invalid: { sign: '✖', words: 'signature', look: 'bad' },
  missing: { sign: '✖', words: 'unsigned', look: 'bad' },
  unchecked: { sign: '-', words: 'unchecked', look: 'faint' },
}

/** A piece of a line and how it looks. */
type Cell = readonly [text: string, look: keyof Style]

const gap = '  '
const payloadIndent = '      '

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
 * One line for a received request, with the reason and the fix below it when something is wrong, and
 * the payload where it is wanted.
 */
export function eventText(event: ReceivedEvent, view: EventView): string {
  const lines = [mainLine(event, view)]
  if (event.reason !== null) lines.push(reasonLine(event, view.style))
  lines.push(...forwardLines(event.forward).map((line) => `  ${view.style.bad(`└ ${line}`)}`))
  if (view.passesOn === true && event.withheld !== null) {
    lines.push(`  ${view.style.bad(`└ not passed on: ${withheldTexts[event.withheld]}`)}`)
  }
  if (view.verbose) {
    const parts = [payloadText(event, view.style), ...handlerParts(event, view.style)]
    lines.push(...parts.map((part) => `${part.replace(/^/gm, payloadIndent)}\n`))
  }
  return `${lines.join('\n')}\n`
}

const withheldTexts: Readonly<Record<WithheldReason, string>> = {
  foreign_origin: 'a web page of another origin sent it; --allow-unverified passes it on',
  signature_not_valid: 'its signature is not valid; --allow-unverified passes it on',
}

function reasonLine({ reason, diagnosis }: ReceivedEvent, style: Style): string {
  const why = style.bad(`└ ${plainText(reason ?? '')}`)
  return diagnosis === null ? `  ${why}` : `  ${why}. Fix: ${plainText(diagnosis.fix)}`
}

/** Below a payload whose signature was diagnosed: a handler that verifies it as it should be. */
function handlerParts({ diagnosis }: ReceivedEvent, style: Style): readonly string[] {
  if (diagnosis === null) return []
  const title = 'A handler for express; `evroute verify --language` prints others:'
  return [style.faint(`${title}\n\n${snippets.express.trimEnd()}`)]
}

function mainLine(event: ReceivedEvent, { style, memory, columns = Infinity }: EventView): string {
  const { before, after } = cellsOf(event, columns)
  const parts = event.kind === 'webhook' ? summarise(event, memory) : malformedParts(event)
  const room = [...before, ...after].reduce(
    (left, [text]) => left - columnsOf(text) - gap.length,
    columns,
  )
  const paint = ([text, look]: Cell): string => style[look](text)
  return [...before.map(paint), paintSummary(parts, room, style), ...after.map(paint)].join(gap)
}

/** What stands before and after the summary. */
function cellsOf(
  event: ReceivedEvent,
  columns: number,
): { readonly before: readonly Cell[]; readonly after: readonly Cell[] } {
  const isWide = columns >= wideColumns
  const isNarrowest = columns < narrowestColumns
  const { sign, words, look } = signatureMarks[event.signature]
  const userColumnsMax = isWide ? 36 : columns < narrowColumns ? 12 : 16
  const user = cutToColumns(shortText(event.userId ?? '-', userColumnsMax), userColumnsMax)
  const type = (event.type ?? 'malformed').toUpperCase().padEnd(9)
  const userCell: Cell = [padToColumns(user, 6), 'name']
  const time: Cell = [formatTimeOfDay(event.atMs), 'faint']
  const duration: Cell = [`${event.durationMs}ms`, 'faint']
  return {
    before: [
      ...(isWide ? [time] : []),
      [`#${event.seq}`.padEnd(4), 'plain'],
      ...endpointCells(event),
      [type, typeLook(event)],
      ...(isNarrowest ? [] : [userCell]),
    ],
    after: [
      [columns < narrowColumns ? sign : `${sign} ${words}`, look],
      statusCell(event),
      ...(isWide ? [duration] : []),
      ...(isNarrowest ? [] : injectedCells(event, isWide)),
    ],
  }
}

/** Which of several endpoints was asked. */
function endpointCells({ endpoint }: ReceivedEvent): readonly Cell[] {
  return endpoint === null ? [] : [[`@${endpoint}`, 'name']]
}

function statusCell({ status }: ReceivedEvent): Cell {
  return status === null ? ['-', 'bad'] : [String(status), status < 300 ? 'good' : 'bad']
}

function injectedCells({ injected }: ReceivedEvent, isWide: boolean): readonly Cell[] {
  if (injected === null) return []
  return [[isWide ? `injected ${injected}` : 'injected', 'warning']]
}

function malformedParts(event: ReceivedEvent): readonly SummaryPart[] {
  return [
    { role: 'warning', text: event.code ?? '' },
    { role: 'muted', text: ` ${event.method} ${shortText(event.path)} ${event.bytes} bytes` },
  ]
}

function typeLook({ kind, type }: ReceivedEvent): keyof Style {
  if (kind === 'malformed') return 'bad'
  return type === 'delete' ? 'warning' : 'strong'
}

/** Colours a summary; where there is no room for all of it, it is cut. */
function paintSummary(parts: readonly SummaryPart[], room: number, style: Style): string {
  const columnsMax = Math.max(room, summaryColumnsMin)
  const text = summaryText(parts)
  if (columnsOf(text) > columnsMax) return cutToColumns(plainText(text), columnsMax)
  return parts.map(({ role, text }) => style[looks[role]](text)).join('')
}
