import { columnsOf, cutToColumns, plainText } from '../../model/index.ts'
import type { Style } from './style.ts'

/** A column of a table. */
export interface TableColumn<Row> {
  /** The header. */
  readonly title: string
  /** The text of a cell. The table makes it safe to print. */
  readonly text: (row: Row) => string
  /** The style. */
  readonly look?: keyof Style | ((row: Row) => keyof Style)
  /** Whether to align to the right, as for counts. */
  readonly isCount?: boolean
  /**
   * Minimum width before columns are dropped; the default is 8, or the width of the content if that is less.
   */
  readonly columnsMin?: number
}

/** How a table is shown. */
export interface TextTableView {
  readonly style: Style
  /** The terminal's width; undefined if lines may have any length. */
  readonly columns: number | undefined
}

const gapWidth = 2
const columnsMinDefault = 8

/** A column with its cells. */
interface Filled<Row> {
  readonly column: TableColumn<Row>
  readonly texts: readonly string[]
}

/**
 * A header and a line for each row. If the table is too wide, the widest columns shrink first, then the last
 * columns are dropped. The first column always stays.
 */
export function textTable<Row>(
  rows: readonly Row[],
  columns: readonly TableColumn<Row>[],
  { style, columns: columnsMax = Infinity }: TextTableView,
): string {
  const all = columns.map((column) => ({
    column,
    texts: rows.map((row) => plainText(column.text(row))),
  }))
  const { shown, widths } = fit(all, columnsMax)
  const lineOf = (cells: readonly Cell[]): string =>
    `${cells
      .map(({ text, look, isCount }, at) => {
        const padding = ' '.repeat(Math.max((widths[at] ?? 0) - columnsOf(text), 0))
        // Pad outside of the colour codes, so that trailing spaces can be trimmed.
        return isCount ? padding + style[look](text) : style[look](text) + padding
      })
      .join(' '.repeat(gapWidth))
      .trimEnd()}\n`
  const cellAt = (at: number, text: string, look: keyof Style): Cell => ({
    text: cutToColumns(text, widths[at] ?? 0),
    look,
    isCount: shown[at]?.column.isCount ?? false,
  })
  const titles = shown.map(({ column }, at) => cellAt(at, column.title, 'faint'))
  const lines = rows.map((row, index) =>
    shown.map(({ column: { look = 'plain' }, texts }, at) =>
      cellAt(at, texts[index] ?? '', typeof look === 'function' ? look(row) : look),
    ),
  )
  return [titles, ...lines].map(lineOf).join('')
}

/** One cell of a table. */
interface Cell {
  readonly text: string
  readonly look: keyof Style
  readonly isCount: boolean
}

function fit<Row>(
  all: readonly Filled<Row>[],
  columnsMax: number,
): { readonly shown: readonly Filled<Row>[]; readonly widths: readonly number[] } {
  for (let count = all.length; ; count -= 1) {
    const shown = all.slice(0, count)
    const wanted = shown.map(({ column, texts }) =>
      // Don't spread: a table can have more rows than a call can have arguments.
      texts.reduce((widest, text) => Math.max(widest, columnsOf(text)), columnsOf(column.title)),
    )
    const room = columnsMax - gapWidth * (count - 1)
    const least = shown.map(({ column }, at) =>
      Math.min(wanted[at] ?? 0, column.columnsMin ?? columnsMinDefault),
    )
    if (sum(least) <= room) return { shown, widths: narrowed(wanted, least, room) }
    if (count === 1) return { shown, widths: [Math.max(room, 1)] }
  }
}

/** Shrinks the widest columns, one character at a time. */
function narrowed(
  wanted: readonly number[],
  least: readonly number[],
  room: number,
): readonly number[] {
  const widths = [...wanted]
  for (let excess = sum(widths) - room; excess > 0; excess -= 1) {
    const spare = widths.map((width, at) => (width > (least[at] ?? 0) ? width : 0))
    const widest = spare.indexOf(Math.max(...spare))
    widths[widest] = (widths[widest] ?? 0) - 1
  }
  return widths
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}
