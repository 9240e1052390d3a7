/** The type of a column of given rows. */
export type ColumnType = 'text' | 'bigint'

/** The parts of SQL in which SQLite and PostgreSQL differ. */
export interface Dialect {
  /**
   * The end of a SELECT whose rows stay locked until the transaction ends; empty in SQLite, which has
   * one writer.
   */
  readonly forUpdate: string
  /** Like `forUpdate`, but skips rows that another transaction has locked. */
  readonly forUpdateSkipLocked: string
  /**
   * The table `given` for a FROM clause, made from the result of {@link givenRows}. It has the given
   * columns, and `place`, the number of the row from 1.
   */
  readonly given: (value: string, columns: Readonly<Record<string, ColumnType>>) => string
  /**
   * The end of a FROM clause: the deliveries, as `delivery`, that belong to each row before it. PostgreSQL
   * finds them in an index for each row, whatever its planner expects.
   *
   * @param columns - the columns of the deliveries
   * @param condition - which deliveries belong to a row
   * @param end - the end of a SELECT that finds few deliveries for each row and locks them. SQLite ignores it
   */
  readonly deliveriesOfEach: (columns: string, condition: string, end?: string) => string
  /**
   * Returns an SQL condition: a column has one of the values of a SELECT. PostgreSQL then finds each in an
   * index, even if its planner has no statistics for a new table.
   */
  readonly isOneOf: (column: string, select: string) => string
  /**
   * Returns the key of a text that may be longer than an index permits: a digest in PostgreSQL, the text in
   * SQLite.
   */
  readonly keyOf: (text: string) => string
  /** Returns an expression for a key column, from an expression for a result of `keyOf`. */
  readonly key: (expression: string) => string
  /** A common table expression that delays new regulations until the transaction ends. */
  readonly gate: string
  /** An expression for the id of a new body. */
  readonly newTextId: string
  /** Locks a table in a mode until the transaction ends. */
  readonly lockTable: (table: string, mode: 'ROW EXCLUSIVE' | 'SHARE') => Script<void>
}

/** Returns the parameter from which {@link Dialect.given} reads rows. It ignores further fields of a row. */
export function givenRows(rows: readonly object[]): string {
  return JSON.stringify(rows)
}

/** A value of a statement. Only PostgreSQL takes arrays. */
export type SqlValue = string | number | null | readonly (string | number | boolean | null)[]

/** Adds a value to a statement, and returns its parameter. */
export type Bind = (value: SqlValue) => string

/** A statement with its values. */
export interface Query {
  /**
   * The name of a statement whose text never changes, so that the server parses it only once; none by
   * default.
   */
  readonly name?: string
  /** The statement. `$1` is its first value; tables have the prefix `evroute_`. */
  readonly sql: string
  /** Its values. */
  readonly values: readonly SqlValue[]
}

/**
 * Work on a database, written once for both engines: a generator that yields a query and receives its
 * rows. SQLite runs it without a pause, so nothing comes between its statements. PostgreSQL waits for
 * the server after each.
 */
export type Script<Result> = Generator<Query, Result, readonly unknown[]>

/** Runs a query in a script and returns its rows. */
export function* rowsOf<Row>(query: Query): Script<readonly Row[]> {
  return (yield query) as readonly Row[]
}

/** Runs a query in a script and returns its first row; undefined if it has none. */
export function* firstRow<Row>(query: Query): Script<Row | undefined> {
  const [row] = yield query
  return row as Row | undefined
}

/** Runs a query in a script for its effect. */
export function* run(query: Query): Script<void> {
  yield query
}

/** Turns work that runs no queries into a script. */
export function* scriptOf<Result>(work: () => Result): Script<Result> {
  yield* []
  return work()
}

/** A database that runs scripts: the port between the shared code and the engines. */
export interface SqlDatabase {
  /** Its dialect. */
  readonly dialect: Dialect
  /**
   * Runs a script that only reads. Each statement sees the database at the time that it runs.
   *
   * @throws EvrouteError `store_closed`, `store_unusable`
   */
  read<Result>(script: () => Script<Result>): Promise<Result>
  /**
   * Runs a script in one transaction. The script may run several times.
   *
   * @param options - `isLong` if one statement may take minutes
   * @throws EvrouteError `store_closed`, `store_unusable`
   */
  change<Result>(
    script: () => Script<Result>,
    options?: { readonly isLong?: boolean },
  ): Promise<Result>
}
