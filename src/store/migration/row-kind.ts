/** How a column is typed in PostgreSQL. */
export type ColumnType = 'text' | 'integer' | 'bigint' | 'double precision' | 'boolean' | 'bytea'

/** A value of a row, as both databases have it. */
export type RowValue = string | number | boolean | null

/** A row of a store, by its columns. */
export type Row = Readonly<Record<string, RowValue>>

/** Where a row stands among those of its kind: the values of its key. */
export type RowPlace = readonly (string | number)[]

/** A column of a kind of rows. */
export interface Column {
  /** Its name, in both databases. */
  readonly name: string
  /** Its type in PostgreSQL. */
  readonly type: ColumnType
  /** What SQLite takes for it where it is no column there: an expression. */
  readonly source: string
}

/** What a kind of rows is made of. */
export interface RowKindParts {
  /** Its name: that of its table in SQLite, and behind `evroute_` in PostgreSQL. */
  readonly name: string
  /** What people call it. */
  readonly title: string
  /** The columns that tell its rows apart, in the order in which they are read. */
  readonly key: readonly string[]
  /** Its columns: a type, or a type and what SQLite takes for it. */
  readonly columns: Readonly<Record<string, ColumnType | readonly [ColumnType, string]>>
  /** Makes a row of PostgreSQL of one that SQLite has, where that is not the same. */
  readonly convert?: (row: Row) => Row
  /** The columns by which PostgreSQL finds its rows, where it has no index of the key, or another order. */
  readonly foundBy?: readonly string[]
  /** What they are read from in SQLite, where that is not the table as it is. */
  readonly source?: string
  /** The sequence that gives out its ids, and the column that has them. */
  readonly sequence?: readonly [string, string]
  /** Rows in a page: as many as are together no burden on the memory, however long they are. */
  readonly pageRows?: number
}

const pageRowsDefault = 2_000

/** A kind of rows: how they are read in one engine, and written in the other. */
export class RowKind {
  readonly name: string
  readonly title: string
  readonly table: string
  readonly source: string
  readonly sequence: readonly [string, string] | undefined
  readonly pageRows: number
  readonly columns: readonly Column[]
  readonly key: readonly Column[]
  readonly foundBy: readonly Column[] | undefined
  /** Makes a row of PostgreSQL of one that SQLite has. */
  readonly convert: (row: Row) => Row

  constructor(parts: RowKindParts) {
    this.name = parts.name
    this.title = parts.title
    this.table = `evroute_${parts.name}`
    this.source = parts.source ?? parts.name
    this.sequence = parts.sequence
    this.pageRows = parts.pageRows ?? pageRowsDefault
    this.columns = Object.entries(parts.columns).map(([name, given]) => {
      const [type, source] = typeof given === 'string' ? [given, name] : given
      return { name, type, source }
    })
    this.key = parts.key.map((name) => this.#column(name))
    this.foundBy = parts.foundBy?.map((name) => this.#column(name))
    this.convert = parts.convert ?? ((row) => row)
  }

  /** Where a row of SQLite stands. */
  placeOf(row: Row): RowPlace {
    return this.key.map(({ name }) => row[name] as string | number)
  }

  #column(name: string): Column {
    const column = this.columns.find((candidate) => candidate.name === name)
    if (column === undefined) throw new Error(`${this.name} has no column ${name}`)
    return column
  }
}

/** A page of rows, as PostgreSQL has them. */
export interface Page {
  /** What they are. */
  readonly kind: RowKind
  /** They are behind this one; null for the first page. */
  readonly after: RowPlace | null
  /** The last one; null where there is none. */
  readonly last: RowPlace | null
  /** The rows, in the order of their key in SQLite. */
  readonly rows: readonly Row[]
}
