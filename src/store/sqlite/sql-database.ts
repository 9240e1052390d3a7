import { raw, scriptOf, sql, type Dialect, type Query, type Script } from '../sql.ts'
import type { Database, SqlValue, Statement } from './database.ts'

/** The SQL dialect of SQLite, which locks no rows because it has one writer. */
export const dialect: Dialect = Object.freeze({
  forUpdate: raw(''),
  forUpdateSkipLocked: raw(''),
  given: (rows, columns) => {
    const names = Object.keys(columns)
    const read = names.map((name) => `value ->> '$.${name}' AS ${name}`)
    return sql`(SELECT ${raw(read.join(', '))}, key + 1 AS place
      FROM json_each(${JSON.stringify(rows, names)})) AS given`
  },
  deliveriesOfEach: (_columns, condition) =>
    sql`CROSS JOIN evroute_deliveries delivery ON ${condition}`,
  isOneOf: (column, select) => sql`${raw(column)} IN (${select})`,
  keyOf: (text) => text,
  key: (expression) => expression,
  gate: raw('gate AS (SELECT 1)'),
  jsonArray: raw('json_group_array'),
  newTextId: raw('NULL'),
  lockTable: () => scriptOf(() => undefined),
} satisfies Dialect)

/** A compiled statement, and the indexes of its values in the list of a query. */
interface Compiled {
  readonly statement: Statement
  readonly places: readonly number[]
}

/**
 * Runs scripts in SQLite without a pause, so no other work comes between two statements of a script. It
 * compiles each statement once, and removes the prefix `evroute_` of tables, because the file has no other
 * tables.
 */
export class ScriptRunner {
  readonly #database: Database
  readonly #compiled = new Map<string, Compiled>()

  constructor(database: Database) {
    this.#database = database
  }

  /** Runs the statements of a script and returns its result. */
  run<Result>(script: Script<Result>): Result {
    let step = script.next()
    while (step.done !== true) step = script.next(this.#rows(step.value))
    return step.value
  }

  #rows({ sql, values }: Query): readonly unknown[] {
    const { statement, places } = this.#compile(sql)
    return statement.all(...places.map((place) => (values[place] ?? null) as SqlValue))
  }

  #compile(sql: string): Compiled {
    const known = this.#compiled.get(sql)
    if (known !== undefined) return known
    const places: number[] = []
    const text = sql.replaceAll('evroute_', '').replace(/\$(\d+)/g, (_, number: string) => {
      places.push(Number(number) - 1)
      return '?'
    })
    const compiled = { statement: this.#database.prepare(text), places }
    this.#compiled.set(sql, compiled)
    return compiled
  }
}
