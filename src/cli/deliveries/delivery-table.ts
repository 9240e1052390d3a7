import { formatDeliveryId, type LoggedDelivery } from '../../delivery/index.ts'
import { plainText, columnsOf, cutToColumns, padToColumns } from '../../model/index.ts'
import type { Style } from '../output/style.ts'
import { formatSpan } from '../output/moments.ts'
import { parkedText, stateLooks, type StandingView, type TableView } from './standing.ts'

/** The columns of the table, from left to right. */
export const columnNames = [
  'id',
  'state',
  'type',
  'user',
  'message',
  'tries',
  'accepted',
  'outlook',
] as const

/** The name of a column. */
type ColumnName = (typeof columnNames)[number]

/** The width of each column; 0 if the column is left out. */
type ColumnWidths = Readonly<Record<ColumnName, number>>

/** Spaces between two columns. */
const gapWidth = 2

/**
 * If the table is too wide, columns shrink to these widths or are dropped, in this order. The id goes last:
 * other commands need it.
 */
const concessions: readonly (readonly [ColumnName, number])[] = [
  ['message', 12],
  ['user', 10],
  ['outlook', 20],
  ['message', 0],
  ['outlook', 11],
  ['id', 32],
  ['user', 8],
  ['type', 0],
  ['user', 0],
  ['tries', 0],
  ['id', 12],
  ['accepted', 0],
  ['outlook', 6],
  ['id', 6],
]

/** After a column was dropped, these columns get the spare room back, the most important first. */
const regrowing: readonly ColumnName[] = ['id', 'outlook', 'user', 'message']

/** A text and its style. */
type Cell = readonly [text: string, look: keyof Style]

type Row = Readonly<Record<ColumnName, Cell>>

const header: Row = {
  id: ['delivery', 'faint'],
  state: ['state', 'faint'],
  type: ['type', 'faint'],
  user: ['user', 'faint'],
  message: ['messageId', 'faint'],
  tries: ['tries', 'faint'],
  accepted: ['accepted', 'faint'],
  outlook: ['why or next', 'faint'],
}

const noWidths = Object.fromEntries(columnNames.map((name) => [name, 0])) as ColumnWidths

/** A table with a row for each delivery. The first page sets the widths of the columns. */
export class DeliveryTable {
  readonly #view: TableView
  #widths: ColumnWidths | undefined

  constructor(view: TableView) {
    this.#view = view
  }

  /** The rows of one page, below the header on the first page. */
  page(deliveries: readonly LoggedDelivery[]): string {
    if (deliveries.length === 0) return ''
    const rows = deliveries.map((delivery) => rowOf(delivery, this.#view))
    if (this.#widths === undefined) {
      rows.unshift(header)
      this.#widths = fitWidths(widthsOf(rows), this.#view.columns ?? Infinity)
    }
    const widths = this.#widths
    return rows.map((row) => `${this.#line(row, widths)}\n`).join('')
  }

  #line(row: Row, widths: ColumnWidths): string {
    const { style, columns } = this.#view
    const cells = columnNames
      .filter((name) => widths[name] > 0)
      .map((name) => {
        const [text, look] = row[name]
        const shown = columns === undefined ? text : cutToColumns(text, widths[name])
        return style[look](shown) + padding(shown, widths[name])
      })
    return cells.join(' '.repeat(gapWidth)).trimEnd()
  }
}

/** Pad outside of the colour codes, so that trailing spaces can be trimmed. */
function padding(text: string, columns: number): string {
  return padToColumns(text, columns).slice(text.length)
}

function rowOf(delivery: LoggedDelivery, view: StandingView): Row {
  const { nowMs } = view
  const { state, type, userId, messageId, attempts, acceptedAtMs } = delivery
  return {
    id: [plainText(formatDeliveryId(delivery)), 'strong'],
    state: [state, stateLooks[state]],
    type: [type, 'plain'],
    user: [plainText(userId ?? '-'), 'name'],
    message: [plainText(messageId), 'faint'],
    tries: [String(attempts).padStart(header.tries[0].length), 'plain'],
    accepted: [`${formatSpan(nowMs - acceptedAtMs)} ago`, 'faint'],
    outlook: [outlookOf(delivery, view), state === 'pending' ? 'plain' : 'bad'],
  }
}

/** Why the delivery failed, or when its next attempt is due. */
function outlookOf(delivery: LoggedDelivery, { nowMs, waitOf }: StandingView): string {
  const { reason, dueAtMs } = delivery
  if (dueAtMs === null) return plainText(reason ?? '')
  const parked = parkedText(waitOf(delivery), nowMs)
  if (parked !== undefined) return parked
  return dueAtMs > nowMs
    ? `next in ${formatSpan(dueAtMs - nowMs)}`
    : `due for ${formatSpan(nowMs - dueAtMs)}`
}

function widthsOf(rows: readonly Row[]): ColumnWidths {
  const widths: Record<ColumnName, number> = { ...noWidths }
  for (const row of rows) {
    for (const name of columnNames) widths[name] = Math.max(widths[name], columnsOf(row[name][0]))
  }
  return widths
}

/** Fits the wanted widths into the given total width. */
export function fitWidths(wanted: ColumnWidths, columnsMax: number): ColumnWidths {
  const widths = { ...wanted }
  for (const [name, width] of concessions) {
    const excess = totalWidth(widths) - columnsMax
    if (excess <= 0) break
    if (width === 0) widths[name] = 0
    else widths[name] = Math.min(widths[name], Math.max(width, widths[name] - excess))
  }
  for (const name of regrowing) {
    const room = Math.max(columnsMax - totalWidth(widths), 0)
    if (widths[name] > 0) widths[name] = Math.min(wanted[name], widths[name] + room)
  }
  return widths
}

function totalWidth(widths: ColumnWidths): number {
  const shown = columnNames.map((name) => widths[name]).filter((width) => width > 0)
  return shown.reduce((sum, width) => sum + width, 0) + gapWidth * (shown.length - 1)
}
