import type { SqlValue } from '../sql.ts'
import { toStored } from '../stored-text.ts'

type Cell = string | number | boolean | null | undefined

/** Columns by name: the PostgreSQL type of each, and its value in a row. */
export type GivenColumns<Row> = Readonly<
  Record<string, readonly [type: string, of: (row: Row) => Cell]>
>

/** Rows that are passed to a statement as parameters: an array for each column. */
export class GivenRows<Row> {
  /** The rows, for a FROM clause. The column `position` counts them from 1. */
  readonly sql: string
  /** The columns of the rows, separated by commas. */
  readonly columns: string
  /** The number of the next parameter. */
  readonly next: number
  readonly #columns: GivenColumns<Row>

  /**
   * @param name - the name of the rows in the statement
   * @param first - the number of their first parameter
   */
  constructor(name: string, first: number, columns: GivenColumns<Row>) {
    const types = Object.values(columns).map(([type], index) => `$${first + index}::${type}[]`)
    this.columns = Object.keys(columns).join(', ')
    this.sql = `unnest(${types.join(', ')}) WITH ORDINALITY AS ${name} (${this.columns}, position)`
    this.next = first + types.length
    this.#columns = columns
  }

  /** Returns the parameters for some rows, with texts in their stored form. */
  values(rows: readonly Row[]): readonly SqlValue[] {
    return Object.values(this.#columns).map(([, of]) => rows.map((row) => cellOf(of(row))))
  }
}

function cellOf(value: Cell): string | number | boolean | null {
  return typeof value === 'string' ? toStored(value) : (value ?? null)
}
