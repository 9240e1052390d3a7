import type { JsonObject } from '../model/index.ts'
import { readIdentifiers, type Identifiers } from './identifiers.ts'
import { ListColumns } from './list-columns.ts'

/** Columns of userIds if none is named. The first that exists is used. */
export const userIdColumns: readonly string[] = Object.freeze(['userId', 'user_id', 'id'])

/** Reads userIds from the rows of a list. */
export class UserIdFields {
  readonly #named: readonly string[]
  readonly #columns: ListColumns
  #isCsv = false

  /**
   * @param named - the columns that have userIds; where it is empty, the first of {@link userIdColumns}
   * that a row, or the header, has
   */
  constructor(named: readonly string[]) {
    this.#named = named
    this.#columns = new ListColumns('idColumn', named)
  }

  /** Whether a header came: all values of rows are texts. */
  get isCsv(): boolean {
    return this.#isCsv
  }

  /**
   * Takes the header of a CSV.
   *
   * @throws SettingError where a named column is not in it
   */
  readHeader(columns: readonly string[]): void {
    this.#isCsv = true
    this.#columns.readHeader(columns)
  }

  /** The userIds of a row, which may be none. */
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

  /**
   * Takes the end of the list.
   *
   * @throws SettingError where there were rows, and a named column was in none of them
   */
  readEnd(): void {
    this.#columns.readEnd()
  }

  #columnsOf(row: JsonObject): readonly string[] {
    if (this.#named.length > 0) return this.#named.filter((name) => Object.hasOwn(row, name))
    return userIdColumns.filter((name) => Object.hasOwn(row, name)).slice(0, 1)
  }
}
