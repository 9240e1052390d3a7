/** The type of a column of given rows. */
export type ColumnType = 'text' | 'bigint'

/** The parts of SQL in which SQLite and PostgreSQL differ. */
export interface Dialect {
  /**
   * The end of a SELECT whose rows stay locked until the transaction ends; empty in SQLite, which has
   * one writer.
   */
  readonly forUpdate: Sql
  /** Like `forUpdate`, but skips rows that another transaction has locked. */
  readonly forUpdateSkipLocked: Sql
  /**
   * Returns the table `given` for a FROM clause. It has the named fields of the rows as columns, and
   * `place`, the number of the row from 1.
   */
  readonly given: (rows: readonly object[], columns: Readonly<Record<string, ColumnType>>) => Sql
  /**
   * The end of a FROM clause: the deliveries, as `delivery`, that belong to each row before it. PostgreSQL
   * finds them in an index for each row, whatever its planner expects.
   *
   * @param columns - the columns of the deliveries
   * @param condition - which deliveries belong to a row
   * @param end - the end of a SELECT that finds few deliveries for each row and locks them. SQLite ignores it
   */
  readonly deliveriesOfEach: (columns: string, condition: Sql, end?: Sql) => Sql
  /**
   * Returns an SQL condition: a column has one of the values of a SELECT. PostgreSQL then finds each in an
   * index, even if its planner has no statistics for a new table.
   */
  readonly isOneOf: (column: string, select: Sql) => Sql
  /**
   * Returns the key of a text that may be longer than an index permits: a digest in PostgreSQL, the text in
   * SQLite.
   */
  readonly keyOf: (text: string) => string
  /** Converts an SQL expression for a result of `keyOf` to the type of a key column. */
  readonly key: (expression: Sql) => Sql
  /** A common table expression that delays new regulations until the transaction ends. */
  readonly gate: Sql
  /** The name of the aggregate that makes a JSON array. */
  readonly jsonArray: Sql
  /** An expression for the id of a new body. */
  readonly newTextId: Sql
  /** Blocks writes of other transactions to a table until the transaction ends. */
  readonly lockTable: (table: string) => Script<void>
}

/** A value of a statement. Only PostgreSQL takes arrays. */
export type SqlValue = string | number | null | readonly (string | number | boolean | null)[]

/** A statement with its values. */
export interface Query {
  /** The name of a statement whose text never changes, so that the server parses it only once; none by default. */
  readonly name?: string
  /** The statement. `$1` is its first value; tables have the prefix `evroute_`. */
  readonly sql: string
  readonly values: readonly SqlValue[]
}

/** A statement or a part of one. A part that occurs several times passes its values once. */
export class Sql implements Query {
  readonly #texts: readonly string[]
  readonly #parts: readonly (SqlValue | Sql)[]
  #written: Pick<Query, 'sql' | 'values'> | undefined

  /** @param texts - the texts before, between and after the parts */
  constructor(texts: readonly string[], parts: readonly (SqlValue | Sql)[]) {
    this.#texts = texts
    this.#parts = parts
  }

  get sql(): string {
    return this.#write().sql
  }

  get values(): readonly SqlValue[] {
    return this.#write().values
  }

  #write(): Pick<Query, 'sql' | 'values'> {
    this.#written ??= this.#parts.some((part) => part instanceof Sql)
      ? this.#writeParts()
      : { sql: numbered(this.#texts), values: this.#parts as readonly SqlValue[] }
    return this.#written
  }

  #writeParts(): Pick<Query, 'sql' | 'values'> {
    const values: SqlValue[] = []
    const known = new Map<Sql, string>()
    const write = (part: SqlValue | Sql = null): string => {
      if (!(part instanceof Sql)) return `$${values.push(part)}`
      const text =
        known.get(part) ??
        part.#texts.reduce((before, next, index) => before + write(part.#parts[index - 1]) + next)
      known.set(part, text)
      return text
    }
    return { sql: write(this), values }
  }
}

/**
 * The numbered texts of templates. A template is the same object each time that its line runs, so its text
 * is written once: writing it takes three times as long as a small statement of SQLite.
 */
const numberedTexts = new WeakMap<readonly string[], string>()

function numbered(texts: readonly string[]): string {
  const known = numberedTexts.get(texts)
  if (known !== undefined) return known
  const text = texts.reduce((before, next, index) => `${before}$${index}${next}`)
  numberedTexts.set(texts, text)
  return text
}

/** Makes a statement from a template, in which an {@link Sql} is a part and all else is a value. */
export function sql(texts: TemplateStringsArray, ...parts: readonly (SqlValue | Sql)[]): Sql {
  return new Sql(texts, parts)
}

/** Makes a part of a statement from a text without values. */
export function raw(text: string): Sql {
  return new Sql([text], [])
}

/** Joins parts of a statement with a text between each two. */
export function joined(parts: readonly (SqlValue | Sql)[], between: string): Sql {
  if (parts.length === 0) return raw('')
  return new Sql(['', ...parts.slice(1).map(() => between), ''], parts)
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
   * @throws EvrouteError `store_closed`, `store_unusable`
   */
  change<Result>(script: () => Script<Result>): Promise<Result>
}
