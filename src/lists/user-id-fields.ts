import type { JsonObject } from '../model/index.ts'
import { readIdentifiers, type Identifiers } from './identifiers.ts'
import { checkRecognised, ListColumns } from './list-columns.ts'

/** The default columns of userIds, most preferred first. */
const userIdColumns: readonly string[] = Object.freeze(['userId', 'user_id', 'id'])

/** Reads userIds from the rows of a list. */
export class UserIdFields {
  readonly #named: readonly string[]
  readonly #others: readonly string[]
  readonly #columns: ListColumns
  #isCsv = false

  /**
   * @param named - the columns with userIds; if empty, the first of `userId`, `user_id` and `id` that a row has
   * @param others - columns with other ids. If `named` is empty, a CSV that has one of these needs no userIds
   */
  constructor(named: readonly string[], others: readonly string[] = []) {
    this.#named = named
    this.#others = others
    this.#columns = new ListColumns('idColumn', named)
  }

  /** Whether the list is CSV, with only strings as values; false until its header is read. */
  get isCsv(): boolean {
    return this.#isCsv
  }

  /** Reads the header of a CSV. Throws SettingError if a named column is missing, or if no column has ids. */
  readHeader(columns: readonly string[]): void {
    this.#isCsv = true
    if (this.#named.length === 0) {
      checkRecognised('idColumn', [...userIdColumns, ...this.#others], columns)
    }
    this.#columns.readHeader(columns)
  }

  /** Reads the userIds in a row, possibly none. */
  read(row: JsonObject): Identifiers {
    this.#columns.readRow(row)
    const identifiers: string[] = []
    for (const name of this.#columnsOf(row)) {
      const found = readIdentifiers(row[name], { name, isCell: this.#isCsv })
      if (found.kind === 'rejected') return found
      identifiers.push(...found.identifiers)
    }
    return { kind: 'identifiers', identifiers }
  }

  /** Call it at the end of the list. Throws SettingError if there were rows, but none had one of the named columns. */
  readEnd(): void {
    this.#columns.readEnd()
  }

  #columnsOf(row: JsonObject): readonly string[] {
    if (this.#named.length > 0) return this.#named.filter((name) => Object.hasOwn(row, name))
    return userIdColumns.filter((name) => Object.hasOwn(row, name)).slice(0, 1)
  }
}
