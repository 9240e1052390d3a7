import type { Dialect } from './dialect.ts'

/** A value of a statement. Arrays are for PostgreSQL alone. */
export type SqlValue = string | number | null | readonly (string | number | boolean | null)[]

/** A statement with its values. */
export interface Query {
  /**
   * The name of a statement that is always the same, so that it is parsed once; none by default.
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

/** A script without queries. */
export function* scriptOf<Result>(work: () => Result): Script<Result> {
  yield* []
  return work()
}

/** A database that runs scripts: the port between the shared code and the engines. */
export interface SqlDatabase {
  /** Its dialect. */
  readonly dialect: Dialect
  /**
   * Answers a question. Each statement sees the database at the time that it runs.
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
