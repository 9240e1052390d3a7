import { columnsOf, cutToColumns, plainText } from '../../model/index.ts'
import type { Style } from './style.ts'

/** How to show one field of each row. A table that is too wide drops columns from the right. */
export interface TableColumn<Row> {
  readonly title: string
  /** Returns the text of a cell, which may contain control characters. */
  readonly text: (row: Row) => string
  readonly look?: keyof Style | ((row: Row) => keyof Style)
  readonly isCount?: boolean
  /** The column shrinks to this width before columns are dropped; 8 by default. */
  readonly columnsMin?: number
  /** Shortens a text that is too wide; by default at its end. */
  readonly cut?: (text: string, columnsMax: number) => string
}

/** The colours of a table and its maximum width. An undefined width is no limit. */
export interface TextTableView {
  readonly style: Style
  readonly columns: number | undefined
}

const gapWidth = 2
const columnsMinDefault = 8

interface ShownColumn<Row> {
  readonly column: TableColumn<Row>
  readonly width: number
}

type Cell = readonly [text: string, look: keyof Style]

/**
 * A table with a header and a line for each row. If it is too wide, first the widest columns shrink, then columns
 * are dropped from the end. The first column always stays. The first page determines the widths.
 */
export class TextTable<Row> {
  readonly #columns: readonly TableColumn<Row>[]
  readonly #view: TextTableView
  #shown: readonly ShownColumn<Row>[] | undefined

  constructor(columns: readonly TableColumn<Row>[], view: TextTableView) {
    this.#columns = columns
    this.#view = view
  }

  page(rows: readonly Row[]): string {
    const isFirst = this.#shown === undefined
    const shown = (this.#shown ??= fit(this.#columns, rows, this.#view.columns ?? Infinity))
    const lines = rows.map((row) =>
      shown.map(({ column: { text, look = 'plain' } }): Cell => [
        plainText(text(row)),
        typeof look === 'function' ? look(row) : look,
      ]),
    )
    if (isFirst) lines.unshift(shown.map(({ column }): Cell => [column.title, 'faint']))
    return lines.map((line) => this.#line(line, shown)).join('')
  }

  get dropped(): readonly string[] {
    const shown = this.#shown?.length ?? this.#columns.length
    return this.#columns.slice(shown).map(({ title }) => title)
  }

  #line(cells: readonly Cell[], shown: readonly ShownColumn<Row>[]): string {
    const { style, columns: columnsMax } = this.#view
    const padded = shown.map(({ column, width }, at) => {
      const [text, look] = cells[at] ?? ['', 'plain']
      const { cut = cutToColumns, isCount = false } = column
      const isTooWide = columnsMax !== undefined && columnsOf(text) > width
      const short = isTooWide ? cut(text, width) : text
      // Pad outside the colour codes, so that trailing spaces can be trimmed.
      const padding = ' '.repeat(Math.max(width - columnsOf(short), 0))
      const painted = style[look](short)
      return isCount ? padding + painted : painted + padding
    })
    return `${padded.join(' '.repeat(gapWidth)).trimEnd()}\n`
  }
}

/** Formats all rows at once as a {@link TextTable}. */
export function textTable<Row>(
  rows: readonly Row[],
  columns: readonly TableColumn<Row>[],
  view: TextTableView,
): string {
  return new TextTable(columns, view).page(rows)
}

/** Formats names and texts, one pair per line. */
export function pairsText(pairs: readonly (readonly [string, string])[], style: Style): string {
  return pairs.map(([name, text]) => `${style.faint(name.padEnd(13))}${text}\n`).join('')
}

function fit<Row>(
  columns: readonly TableColumn<Row>[],
  rows: readonly Row[],
  columnsMax: number,
): readonly ShownColumn<Row>[] {
  const wanted = columns.map(({ title, text }) =>
    // Don't spread: a table can have more rows than a call can have arguments.
    rows.reduce(
      (widest, row) => Math.max(widest, columnsOf(plainText(text(row)))),
      columnsOf(title),
    ),
  )
  for (let count = columns.length; ; count -= 1) {
    const shown = columns.slice(0, count)
    const room = columnsMax - gapWidth * (count - 1)
    const least = shown.map(({ columnsMin = columnsMinDefault }, at) =>
      Math.min(wanted[at] ?? 0, columnsMin),
    )
    const isRoomy = sum(least) <= room
    if (!isRoomy && count > 1) continue
    const widths = isRoomy ? narrowed(wanted.slice(0, count), least, room) : [Math.max(room, 1)]
    return shown.map((column, at) => ({ column, width: widths[at] ?? 0 }))
  }
}

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
