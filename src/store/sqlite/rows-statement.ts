import type { Database, SqlValue, Statement } from './database.ts'

/** The maximum of rows in one statement. With more, a row costs the same. */
const rowsMax = 64

/**
 * A statement for any number of rows, which takes about half the time of a statement for each row. It
 * runs one statement for each power of two in the number. Each is compiled when it is first used.
 *
 * A failure in between leaves the rows before it, so the caller must roll the transaction back.
 */
export class RowsStatement {
  readonly #database: Database
  readonly #row: string
  readonly #columns: number
  readonly #sqlOf: (rows: string) => string
  readonly #statements = new Map<number, Statement>()

  /**
   * @param row - the places of a row, as in `(?, ?, 0)`; `?1` is the first value before the rows
   * @param sqlOf - the statement around some rows. It must say `OR FAIL`: otherwise SQLite keeps a
   * copy of its changes, to undo the statement alone
   */
  constructor(database: Database, row: string, sqlOf: (rows: string) => string) {
    this.#database = database
    this.#row = row
    this.#columns = row.split(/\?(?!\d)/).length - 1
    this.#sqlOf = sqlOf
  }

  /**
   * Runs it and returns the number of rows that it changed.
   *
   * @param values - of all rows, one after the other
   * @param first - the values before the rows
   */
  run(values: readonly SqlValue[], first: readonly SqlValue[] = []): number {
    let changed = 0
    let from = 0
    while (from < values.length) {
      const rows = Math.min(rowsMax, powerOfTwoIn((values.length - from) / this.#columns))
      const to = from + rows * this.#columns
      const { changes } = this.#statementOf(rows).run(...first, ...values.slice(from, to))
      changed += Number(changes)
      from = to
    }
    return changed
  }

  #statementOf(rows: number): Statement {
    const known = this.#statements.get(rows)
    if (known !== undefined) return known
    const sql = this.#sqlOf(Array<string>(rows).fill(this.#row).join(', '))
    const statement = this.#database.prepare(sql)
    this.#statements.set(rows, statement)
    return statement
  }
}

/** The greatest power of two that is not greater than a count. */
function powerOfTwoIn(count: number): number {
  return 2 ** Math.floor(Math.log2(count))
}
