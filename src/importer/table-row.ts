import type { RejectionCode } from '../model/index.ts'
import type { GoodRow } from './row.ts'

/** The names of a CSV's columns. It comes before every row, and JSON has none. */
export interface TableHeader {
  /** Tells it from a row. */
  readonly kind: 'header'
  /** The line on which it begins, from 1. */
  readonly line: number
  /** The names, without the blanks around them; columns without a name are not among them. */
  readonly columns: readonly string[]
}

/** A row that cannot be used. */
export interface BadTableRow {
  /** Tells it from a good row. */
  readonly kind: 'bad'
  /** The line on which the row begins, from 1; in a compressed file, of the inflated text. */
  readonly line: number
  /** The stable name of the reason. */
  readonly code: RejectionCode | 'invalid_csv'
  /** The reason in words. */
  readonly message: string
}

/**
 * A row of a table. After a header all values of a good row are texts, one for each column. Without a header
 * they are JSON values.
 */
export type TableRow = TableHeader | GoodRow | BadTableRow
