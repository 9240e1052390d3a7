import type { RejectionCode } from '../model/index.ts'
import type { GoodRow } from './row.ts'

/** The column names of CSV, before all rows. JSON has none. */
export interface TableHeader {
  readonly kind: 'header'
  /** The line on which it begins, from 1. */
  readonly line: number
  /** The names, without the blanks around them; columns without a name are not among them. */
  readonly columns: readonly string[]
}

/** An invalid row. */
export interface BadTableRow {
  readonly kind: 'bad'
  /** The line on which the row begins, from 1; of the inflated text. */
  readonly line: number
  readonly code: RejectionCode | 'invalid_csv'
  readonly message: string
}

/**
 * A row of a table. After a header all values of a good row are texts, one for each column. Without a header
 * they are JSON values.
 */
export type TableRow = TableHeader | GoodRow | BadTableRow
