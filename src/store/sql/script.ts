/** A value that a statement is given. Arrays are for PostgreSQL alone. */
export type SqlValue = string | number | null | readonly (string | number | boolean | null)[]

/** A statement with its values. */
export interface Query {
  /** Names a statement that is always the same, so that it is parsed once; none by default. */
  readonly name?: string
  /** The statement. `$1` is its first value; tables have the prefix `evroute_`. */
  readonly sql: string
  /** Its values. */
  readonly values: readonly SqlValue[]
}

/**
 * Work on a database, written once for both engines: a generator that yields a query and is given its
 * rows. SQLite runs it without a pause, so that nothing comes between its statements. PostgreSQL waits for
 * the server after each.
 */
export type Script<Result> = Generator<Query, Result, readonly unknown[]>

/** Runs a query within a script, and gives its rows. */
export function* rowsOf<Row>(query: Query): Script<readonly Row[]> {
  return (yield query) as readonly Row[]
}

/** Runs a query within a script, and gives its first row; undefined where it has none. */
export function* firstRow<Row>(query: Query): Script<Row | undefined> {
  const [row] = yield query
  return row as Row | undefined
}

/** Runs a query within a script for its effect. */
export function* run(query: Query): Script<void> {
  yield query
}

/** A script that asks the database nothing. */
export function* scriptOf<Result>(work: () => Result): Script<Result> {
  yield* []
  return work()
}
