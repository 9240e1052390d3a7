import type { Database, SqlValue, Statement } from './database.ts'

/** The maximum number of rows in one statement. More rows would not be faster. */
const rowsMax = 64

/**
 * A statement for any number of rows, which takes about half the time of one statement per row. It splits the
 * rows into powers of two, and compiles a statement for each of these when it is first used.
 *
 * After a failure, earlier rows stay written, so the caller must roll the transaction back.
 */
export class RowsStatement {
  readonly #database: Database
  readonly #row: string
  readonly #columns: number
  readonly #sqlOf: (rows: string) => string
  readonly #statements = new Map<number, Statement>()

  /**
   * @param row - the placeholders of a row, as in `(?, ?, 0)`; `?1` is the first value before the rows
   * @param sqlOf - returns the statement for the placeholders of some rows. It must say `OR FAIL`: otherwise
   * SQLite copies pages, so that it can undo this statement alone
   */
  constructor(database: Database, row: string, sqlOf: (rows: string) => string) {
    this.#database = database
    this.#row = row
    this.#columns = row.split(/\?(?!\d)/).length - 1
    this.#sqlOf = sqlOf
  }

  /**
   * Runs the statement, and returns the number of rows that it changed.
   *
   * @param values - the values of all rows, one row after the other
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

function powerOfTwoIn(count: number): number {
  return 2 ** Math.floor(Math.log2(count))
}
