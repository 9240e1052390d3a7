/** A row, by the names that its columns have in PostgreSQL. */
export type Row = Readonly<Record<string, string | number | null>>

/** A column that moves. */
export interface MovedColumn {
  /** Its name in PostgreSQL. */
  readonly name: string
  /** Its type in PostgreSQL. */
  readonly type: string
  /** Its expression in SQLite: its name, if it is a column there. */
  readonly source: string
}

/** So small that the sum of 1,000 million remainders is exact. */
const modulus = 1_000_003

/** How columns of a type are summed up: the SQL for PostgreSQL, and the same of a value that is not null. */
interface Sum {
  readonly sql: (column: string) => string
  readonly of: (value: string | number) => number
}

const ofIntegers: Sum = {
  sql: (column) => `${column} % ${modulus}`,
  of: (value) => Number(value) % modulus,
}

const ofTexts: Sum = {
  sql: (column) => `octet_length(${column})`,
  of: (value) => Buffer.byteLength(String(value)),
}

const sums: Readonly<Record<string, Sum>> = {
  integer: ofIntegers,
  bigint: ofIntegers,
  boolean: { sql: (column) => `${column}::integer`, of: Number },
  text: ofTexts,
  'double precision': {
    sql: (column) => `floor(${column})::bigint % ${modulus}`,
    of: (value) => Math.floor(Number(value)) % modulus,
  },
  // Each byte arrives as two digits behind `\x`.
  bytea: { sql: ofTexts.sql, of: (value) => (String(value).length - 2) / 2 },
}

function sumFor({ name, type }: MovedColumn): Sum {
  const sum = sums[type]
  if (sum === undefined) throw new Error(`the column ${name} has the type ${type}`)
  return sum
}

/** Returns the aggregates of columns that {@link ColumnSums} compares. */
export function sumsSql(columns: readonly MovedColumn[]): string {
  return columns
    .map(
      (column) => `coalesce(sum(${sumFor(column).sql(column.name)}), 0)::bigint AS ${column.name}`,
    )
    .join(', ')
}

/**
 * A sum for each column of the rows that are written: of its numbers, or of the lengths of its texts. It differs
 * from the sum in the database if a row did not arrive unchanged.
 */
export class ColumnSums {
  readonly #sums: readonly { readonly column: MovedColumn; readonly of: Sum['of']; sum: number }[]

  constructor(columns: readonly MovedColumn[]) {
    this.#sums = columns.map((column) => ({ column, of: sumFor(column).of, sum: 0 }))
  }

  /** Adds rows. */
  add(rows: readonly Row[]): void {
    for (const each of this.#sums) {
      for (const row of rows) {
        const value = row[each.column.name] ?? null
        if (value !== null) each.sum += each.of(value)
      }
    }
  }

  /** Returns the names of the columns whose sum in the database is another one. */
  differentFrom(stored: Readonly<Record<string, unknown>>): readonly string[] {
    const different = this.#sums.filter(({ column, sum }) => stored[column.name] !== sum)
    return different.map(({ column }) => column.name)
  }
}
