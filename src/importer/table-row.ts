import type { RejectionCode } from '../model/index.ts'
import type { GoodRow } from './row.ts'

/** The header of CSV, before all rows. JSON has none. */
export interface TableHeader {
  readonly kind: 'header'
  /** The line on which the header begins, from 1. */
  readonly line: number
  /** The trimmed names of the columns. Columns without a name are left out. */
  readonly columns: readonly string[]
}

/** An invalid row. */
export interface BadTableRow {
  readonly kind: 'bad'
  /** The line of the inflated text on which the row begins, from 1. */
  readonly line: number
  readonly code: RejectionCode | 'invalid_csv'
  readonly message: string
}

/**
 * A row of a table. In CSV, all values of a good row are strings, one for each named column. In JSON they are JSON
 * values.
 */
export type TableRow = TableHeader | GoodRow | BadTableRow
