import { formatDeliveryId, type LoggedDelivery, type LoggedState } from '../../delivery/index.ts'
import { plainText, columnsOf, cutToColumns, padToColumns } from '../../model/index.ts'
import type { Style } from '../output/style.ts'
import { formatSpan } from './moments.ts'
import type { StandingView } from './standing.ts'
import {
  columnNames,
  fitWidths,
  gapWidth,
  type ColumnName,
  type ColumnWidths,
} from './table-widths.ts'
import { parkedText } from './waits.ts'

/** How a table is shown to a person. */
export interface TableView extends StandingView {
  readonly style: Style
  /** The terminal's width; undefined if lines may have any length. */
  readonly columns: number | undefined
}

/** A text and its style. */
type Cell = readonly [text: string, look: keyof Style]

type Row = Readonly<Record<ColumnName, Cell>>

/** The style of each state. */
export const stateLooks: Readonly<Record<LoggedState, keyof Style>> = {
  pending: 'warning',
  delivered: 'good',
  failed: 'bad',
  expired: 'bad',
}

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
