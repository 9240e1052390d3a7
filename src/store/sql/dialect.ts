import type { Script } from './script.ts'

/** The type of a column of given rows. */
export type ColumnType = 'text' | 'bigint'

/** The words in which SQLite and PostgreSQL differ. */
export interface Dialect {
  /**
   * The end of a SELECT whose rows stay locked until the transaction ends; empty in SQLite, which has
   * one writer.
   */
  readonly forUpdate: string
  /** As `forUpdate`, without rows that another transaction has locked. */
  readonly forUpdateSkipLocked: string
  /**
   * A table in a FROM clause, `given`, made from a value of {@link givenRows}. It has the columns and
   * `place`, which counts the rows.
   */
  readonly given: (value: string, columns: Readonly<Record<string, ColumnType>>) => string
  /**
   * A condition: whether a column has one of the values of a SELECT. PostgreSQL then finds each in an
   * index, even if its planner has no statistics of a new table.
   */
  readonly isOneOf: (column: string, select: string) => string
  /**
   * The key of a text that may be longer than an index permits: a digest in PostgreSQL, the text in
   * SQLite.
   */
  readonly keyOf: (text: string) => string
  /** A value for a column of keys, from an expression for a result of `keyOf`. */
  readonly key: (expression: string) => string
  /** A common table expression that delays new regulations until the transaction ends. */
  readonly gate: string
  /** An expression for the id of a new text. */
  readonly newTextId: string
  /** Locks a table in a mode until the transaction ends. */
  readonly lockTable: (table: string, mode: 'ROW EXCLUSIVE' | 'SHARE') => Script<void>
}

/** Makes the value of rows that {@link Dialect.given} reads. */
export function givenRows(
  rows: readonly Readonly<Record<string, string | number | null>>[],
): string {
  return JSON.stringify(rows)
}
