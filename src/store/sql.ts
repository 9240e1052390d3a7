/** The SQL type of a column in {@link Dialect.given}. */
export type ColumnType = 'text' | 'bigint'

/** The parts of SQL in which SQLite and PostgreSQL differ. */
export interface Dialect {
  /** The end of a SELECT that locks its rows until the transaction ends; empty in SQLite, which has one writer. */
  readonly forUpdate: Sql
  /** Like `forUpdate`, but skips rows that another transaction has locked. */
  readonly forUpdateSkipLocked: Sql
  /**
   * Returns rows as the table `given` for a FROM clause. Its columns are the listed fields, and `position`, which
   * numbers the rows from 1.
   */
  readonly given: (rows: readonly object[], columns: Readonly<Record<string, ColumnType>>) => Sql
  /**
   * Returns the end of a FROM clause. It joins each row before it with the deliveries that meet `condition`, as
   * `delivery`. PostgreSQL then looks in an index for each row, whatever its planner expects.
   *
   * @param end - the end of the SELECT for each row, with a limit and a lock. SQLite ignores it
   */
  readonly deliveriesOfEach: (columns: string, condition: Sql, end?: Sql) => Sql
  /**
   * Returns the condition that a column has one of the values of a SELECT. Makes PostgreSQL use an index even
   * while its planner has no statistics for a new table.
   */
  readonly isOneOf: (column: string, select: Sql) => Sql
  /** Returns the condition that a delivery is about a user. It can use the index of users. */
  readonly isOfUser: (userId: string) => Sql
  /** Returns the key of a text that may be too long to index: a digest in PostgreSQL, the text itself in SQLite. */
  readonly keyOf: (text: string) => string
  /** Returns SQL that converts a text from `keyOf` to the type of a key column. */
  readonly key: (expression: Sql) => Sql
  /** A common table expression that delays new regulations until the transaction ends. */
  readonly gate: Sql
  /** The name of the aggregate that makes a JSON array. */
  readonly jsonArray: Sql
  /** An expression for the id of a new body. */
  readonly newTextId: Sql
  /** Keeps other transactions from writing to a table until this one ends. */
  readonly lockTable: (table: string) => Script<void>
}

/** A value in a statement. Only PostgreSQL takes arrays. */
export type SqlValue = string | number | null | readonly (string | number | boolean | null)[]

/** A statement with its values. */
export interface Query {
  /** Names a statement whose text never changes, so that the server parses it only once. */
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
 * Caches the text of each template, with numbered parameters. A template is the same object each time its line
 * runs. Building its text takes three times as long as running a small SQLite statement.
 */
const numberedTexts = new WeakMap<readonly string[], string>()

function numbered(texts: readonly string[]): string {
  const known = numberedTexts.get(texts)
  if (known !== undefined) return known
  const text = texts.reduce((before, next, index) => `${before}$${index}${next}`)
  numberedTexts.set(texts, text)
  return text
}

/** Makes a statement from a template: an {@link Sql} in it becomes part of the text, anything else a value. */
export function sql(texts: TemplateStringsArray, ...parts: readonly (SqlValue | Sql)[]): Sql {
  return new Sql(texts, parts)
}

/** Makes a part of a statement from a text without values. */
export function raw(text: string): Sql {
  return new Sql([text], [])
}

/** Joins parts of a statement; empty if there are none. */
export function joined(parts: readonly (SqlValue | Sql)[], separator: string): Sql {
  if (parts.length === 0) return raw('')
  return new Sql(['', ...parts.slice(1).map(() => separator), ''], parts)
}

/**
 * Work on a database, written once for both engines: a generator that yields queries and receives their rows.
 * SQLite runs it synchronously, so nothing comes between its statements. PostgreSQL awaits each one.
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

/**
 * A database that runs scripts: the port between the shared code and the engines. Both methods reject with
 * EvrouteError `store_closed` or `store_unusable`.
 */
export interface SqlDatabase {
  readonly dialect: Dialect
  /** Runs a script that only reads. Each statement sees what is committed when it runs. */
  read<Result>(script: () => Script<Result>): Promise<Result>
  /** Runs a script in one transaction. May run it again, after a conflict. */
  change<Result>(script: () => Script<Result>): Promise<Result>
}
