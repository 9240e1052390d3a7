import type { SqlValue } from '../sql.ts'
import { toStored } from '../stored-text.ts'

type Cell = string | number | boolean | null | undefined

/** Columns by name: each with its PostgreSQL type, and a function that returns its value in a row. */
export type GivenColumns<Row> = Readonly<
  Record<string, readonly [type: string, of: (row: Row) => Cell]>
>

/** Rows that a statement gets as parameters: one array per column. */
export class GivenRows<Row> {
  /** The rows for a FROM clause. Their column `position` numbers them from 1. */
  readonly sql: string
  /** The columns of the rows, separated by commas. */
  readonly columns: string
  /** The number of the first parameter after the rows. */
  readonly next: number
  readonly #columns: GivenColumns<Row>

  /** @param first - the number of the rows' first parameter */
  constructor(name: string, first: number, columns: GivenColumns<Row>) {
    const types = Object.values(columns).map(([type], index) => `$${first + index}::${type}[]`)
    this.columns = Object.keys(columns).join(', ')
    this.sql = `unnest(${types.join(', ')}) WITH ORDINALITY AS ${name} (${this.columns}, position)`
    this.next = first + types.length
    this.#columns = columns
  }

  /** Returns the parameters for these rows, with texts in their stored form. */
  values(rows: readonly Row[]): readonly SqlValue[] {
    return Object.values(this.#columns).map(([, of]) => rows.map((row) => cellOf(of(row))))
  }
}

function cellOf(value: Cell): string | number | boolean | null {
  return typeof value === 'string' ? toStored(value) : (value ?? null)
}
