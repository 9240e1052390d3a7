import {
  plainText,
  shortText,
  columnsOf,
  cutToColumns,
  padToColumns,
  endpointName,
  failureText,
  formatDuration,
  limits,
} from '../../model/index.ts'
import type { SignatureVerdict } from '../../match/index.ts'
import {
  snippets,
  summarise,
  summaryText,
  type ReceivedCounts,
  type ReceivedEvent,
  type SummaryMemory,
  type SummaryPart,
  type SummaryRole,
  type WithheldReason,
  type Forwarding,
} from '../../receiver/index.ts'
import { payloadText } from '../output/json.ts'
import { countOf, formatCount, formatTimeOfDay } from '../output/numbers.ts'
import type { Style } from '../output/style.ts'
import { wrapText } from '../output/wrap.ts'

interface EventView {
  readonly style: Style
  /** Remembers earlier requests, which summaries depend on. */
  readonly memory: SummaryMemory
  /** Whether to print the payload too, at most 200 lines of it. */
  readonly verbose: boolean
  readonly columns: number | undefined
  /** Whether requests are passed on to an application or a program; false by default. */
  readonly passesOn?: boolean
  /** The name that evroute was called by, for suggested commands. */
  readonly program: string
}

/** Below this width, the time and the duration are left out. */
const wideColumns = 100
/** Below this width, ids are shortened, and the signature is only `✔`, `✖` or `-`. */
const narrowColumns = 80
/** Below this width, the user and the injected fault are left out. */
const narrowestColumns = 60
const summaryColumnsMin = 8

const signatureMarks: Readonly<
  Record<SignatureVerdict, readonly [sign: string, words: string, look: keyof Style]>
> = {
  valid: ['✔', 'signed', 'good'],
  invalid: ['✖', 'signature', 'bad'],
  missing: ['✖', 'unsigned', 'bad'],
  unchecked: ['-', 'unchecked', 'faint'],
}

type Cell = readonly [text: string, look: keyof Style]

const gap = '  '
const payloadIndent = '      '
/** The indentation of the second line of a note. */
const noteIndent = '    '

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

/** Formats a request as one line, then a line for each problem, then in verbose mode the payload. */
export function eventText(event: ReceivedEvent, view: EventView): string {
  const { style, program, columns } = view
  const note = (text: string): string => `  ${wrapText(text, columns, noteIndent)}`
  const warnings = [...forwardLines(event.forward), ...checkAdvice(event, program)]
  if (view.passesOn === true && event.withheld !== null) {
    warnings.push(`not passed on: ${withheldTexts[event.withheld]}`)
  }
  const lines = [
    mainLine(event, view),
    ...(event.reason === null ? [] : [note(reasonText(event, style))]),
    ...warnings.map((line) => note(style.bad(`└ ${line}`))),
  ]
  if (view.verbose) {
    const parts = [payloadText(event, style)]
    if (event.diagnosis !== null) parts.push(handlerText(view))
    lines.push(...parts.map((part) => `${part.replace(/^/gm, payloadIndent)}\n`))
  }
  return `${lines.join('\n')}\n`
}

const withheldTexts: Readonly<Record<WithheldReason, string>> = {
  foreign_origin: 'a web page from another origin sent it; --allow-unverified passes it on',
  signature_not_valid: 'its signature is not valid; --allow-unverified passes it on',
}

function reasonText({ reason, diagnosis }: ReceivedEvent, style: Style): string {
  const why = style.bad(`└ ${plainText(reason ?? '')}`)
  return diagnosis === null ? why : `${why}. Fix: ${plainText(diagnosis.fix)}`
}

function handlerText({ style, program }: EventView): string {
  const title = `A correct handler for express; \`${program} check --language\` prints others:`
  return style.faint(`${title}\n\n${snippets.express.trimEnd()}`)
}

function mainLine(event: ReceivedEvent, { style, memory, columns = Infinity }: EventView): string {
  const earlier = memory.repeatOf(event)
  const { before, after: always } = cellsOf(event, columns)
  const after =
    earlier === undefined ? always : [...always, [`same id: #${earlier}`, 'warning'] as const]
  const parts = event.kind === 'webhook' ? summarise(event, memory) : malformedParts(event)
  const room = [...before, ...after].reduce(
    (remaining, [text]) => remaining - columnsOf(text) - gap.length,
    columns,
  )
  const paint = ([text, look]: Cell): string => style[look](text)
  return [...before.map(paint), paintSummary(parts, room, style), ...after.map(paint)].join(gap)
}

function cellsOf(
  event: ReceivedEvent,
  columns: number,
): { readonly before: readonly Cell[]; readonly after: readonly Cell[] } {
  const { endpoint } = event
  const isWide = columns >= wideColumns
  const isNarrowest = columns < narrowestColumns
  const [sign, words, look] = signatureMarks[event.signature]
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
      ...(endpoint === null ? [] : [[`@${endpoint}`, 'name'] as const]),
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

function paintSummary(parts: readonly SummaryPart[], room: number, style: Style): string {
  const columnsMax = Math.max(room, summaryColumnsMin)
  const text = summaryText(parts)
  if (columnsOf(text) > columnsMax) return cutToColumns(plainText(text), columnsMax)
  return parts.map(({ role, text }) => style[looks[role]](text)).join('')
}

/** Formats the number of requests by kind and signature. */
export function countsText(counts: ReceivedCounts): string {
  const others = [
    [counts.malformed, 'malformed'],
    [counts.valid, 'with a valid signature'],
    [counts.invalid, 'with a wrong one'],
    [counts.missing, 'without one'],
  ] as const
  const shown = others.filter(([count]) => count > 0)
  const texts = shown.map(([count, text]) => `${formatCount(count)} ${text}`)
  return [countOf(counts.wellFormed, 'webhook'), ...texts].join(', ')
}

const answerCharactersMax = 200

/** Formats warnings about forwarding: an error, a status other than 2xx with its text, or an answer that came late. */
export function forwardLines(forwarding: Forwarding | null): readonly string[] {
  if (forwarding === null) return []
  const { url, status, error, durationMs, answer } = forwarding
  const lines: string[] = []
  if (error !== null) {
    lines.push(`cannot forward to ${endpointName(url)}: ${failureText(error)}${adviceOn(error)}`)
  } else if (status !== null && (status < 200 || status >= 300)) {
    const line = answer.split(/[\r\n]+/).find((each) => each.trim() !== '') ?? ''
    const said = line === '' ? '' : `: ${shortText(line.trim(), answerCharactersMax)}`
    lines.push(`${endpointName(url)} answered ${status}${said}`)
  }
  if (durationMs > limits.endpointDeadlineMs) {
    const deadline = formatDuration(limits.endpointDeadlineMs)
    lines.push(
      `the answer took ${formatDuration(durationMs)}, but senders give up after ${deadline}`,
    )
  }
  return lines
}

const refusalStatuses: readonly (number | null | undefined)[] = [400, 401, 403]

/** Suggests how to find out why an application refused a valid signature. Empty for any other request. */
export function checkAdvice(
  { forward, signature }: Pick<ReceivedEvent, 'forward' | 'signature'>,
  program: string,
): readonly string[] {
  if (signature !== 'valid' || forward === null || !refusalStatuses.includes(forward.status))
    return []
  const command = `${program} check ${endpointName(forward.url)} --secret ...`
  return [`the signature is valid: run \`${command}\` to find out why it was refused`]
}

/** Formats the result of forwarding a request again. `forwarding` is undefined if no target takes its type. */
export function resentText(forwarding: Forwarding | undefined): string {
  if (forwarding === undefined) return 'no --forward-to accepts this type'
  const lines = forwardLines(forwarding)
  if (lines.length > 0) return lines.join('; ')
  const { url, status, durationMs } = forwarding
  return `${endpointName(url)} answered ${status ?? ''} in ${formatDuration(durationMs)}`
}

function adviceOn(error: string): string {
  if (error === 'ECONNREFUSED') return '; nothing is listening there'
  if (error === 'timeout') return '; to wait without a limit, pass --forward-timeout 0'
  return ''
}
