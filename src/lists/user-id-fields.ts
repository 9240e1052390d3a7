import type { JsonObject } from '../model/index.ts'
import { readIdentifiers, type Identifiers } from './identifiers.ts'
import { ListColumns } from './list-columns.ts'

/** The default columns of userIds, most preferred first. */
export const userIdColumns: readonly string[] = Object.freeze(['userId', 'user_id', 'id'])

/** Reads userIds from the rows of a list. */
export class UserIdFields {
  readonly #named: readonly string[]
  readonly #columns: ListColumns
  #isCsv = false

  /** @param named - the columns with userIds; if empty, the first of {@link userIdColumns} that a row has */
  constructor(named: readonly string[]) {
    this.#named = named
    this.#columns = new ListColumns('idColumn', named)
  }

  /** Whether the list is CSV, so that all values are strings; false until its header is read. */
  get isCsv(): boolean {
    return this.#isCsv
  }

  /** Reads the header of a CSV. Throws SettingError if a named column is missing. */
  readHeader(columns: readonly string[]): void {
    this.#isCsv = true
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
