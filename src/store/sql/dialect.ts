import type { Script } from './script.ts'

/** The type of a column that rows are given in. */
export type ColumnType = 'text' | 'bigint'

/** The words in which SQLite and PostgreSQL differ. */
export interface Dialect {
  /** Ends a SELECT whose rows are locked until the transaction ends; empty in SQLite, which has one writer. */
  readonly forUpdate: string
  /** As `forUpdate`; rows that another transaction has locked are left out. */
  readonly forUpdateSkipLocked: string
  /**
   * A table in a FROM clause, `given`, out of a value that {@link givenRows} made. It has the columns and
   * `place`, which counts the rows.
   */
  readonly given: (value: string, columns: Readonly<Record<string, ColumnType>>) => string
  /**
   * A condition: whether a column has one of the values that a SELECT finds. PostgreSQL then looks up each
   * in an index, also where its planner knows nothing of a table that is new.
   */
  readonly isOneOf: (column: string, select: string) => string
  /** The key of a text that may be longer than an index takes: a digest in PostgreSQL, the text in SQLite. */
  readonly keyOf: (text: string) => string
  /** A value for a column of keys, out of an expression for what `keyOf` gave. */
  readonly key: (expression: string) => string
  /** A common table expression that lets no regulation begin until the transaction ends. */
  readonly gate: string
  /** An expression for the id of a new text. */
  readonly newTextId: string
  /** Lets no other process lock a table in a mode that conflicts, until the transaction ends. */
  readonly lockTable: (table: string, mode: 'ROW EXCLUSIVE' | 'SHARE') => Script<void>
}

/** Rows as the one value that {@link Dialect.given} reads. */
export function givenRows(
  rows: readonly Readonly<Record<string, string | number | null>>[],
): string {
  return JSON.stringify(rows)
}
