import { SettingError, nearestName, shortText, type JsonObject } from '../model/index.ts'

/** Upper bound of columns that a message names. */
const namedColumnsMax = 20

/**
 * Sees to it that the columns that are asked for are in a list: a name with a slip in it would say of
 * everybody that there is nothing. A CSV's are known from its header. In JSON each row has fields of
 * its own, so that only the end of the list tells.
 */
export class ListColumns {
  readonly #setting: string
  readonly #names: readonly string[]
  readonly #missing: Set<string>
  #firstRow: readonly string[] | undefined

  /**
   * @param setting - where the columns are named, for messages
   * @param names - all of them have to be there
   */
  constructor(setting: string, names: readonly string[]) {
    this.#setting = setting
    this.#names = names
    this.#missing = new Set(names)
  }

  /**
   * Takes the header of a CSV.
   *
   * @throws SettingError where a column is not in it
   */
  readHeader(columns: readonly string[]): void {
    const missing = this.#names.find((name) => !columns.includes(name))
    if (missing !== undefined) throw missingColumn(this.#setting, missing, columns)
    this.#missing.clear()
  }

  /** Takes a row. */
  readRow(row: JsonObject): void {
    this.#firstRow ??= Object.keys(row)
    if (this.#missing.size === 0) return
    for (const name of this.#missing) if (Object.hasOwn(row, name)) this.#missing.delete(name)
  }

  /**
   * Takes the end of the list.
   *
   * @throws SettingError where there were rows, and a column was in none of them
   */
  readEnd(): void {
    const [missing] = this.#missing
    if (missing === undefined || this.#firstRow === undefined) return
    throw missingColumn(this.#setting, missing, this.#firstRow)
  }
}

/**
 * Sees to it that a CSV has one of the columns that are looked for where none is named.
 *
 * @throws SettingError where it has none
 */
export function checkRecognised(
  setting: string,
  recognised: readonly string[],
  columns: readonly string[],
): void {
  if (recognised.some((name) => columns.includes(name))) return
  throw new SettingError(
    setting,
    `The list has no column ${alternatives(recognised)}: it has ${listed(columns)}`,
    `Name the column that the ids are in with ${setting}.`,
  )
}

function missingColumn(setting: string, name: string, columns: readonly string[]): SettingError {
  const shown = shortText(name)
  const nearest = nearestName(
    shown,
    columns.slice(0, namedColumnsMax).map((column) => shortText(column)),
  )
  return new SettingError(
    setting,
    `The list has no column "${shown}": it has ${listed(columns)}`,
    `${nearest === undefined ? 'Name one of these' : `Did you mean "${nearest}"? Name it`} with ${setting}.`,
  )
}

function alternatives(names: readonly string[]): string {
  return `${names.slice(0, -1).join(', ')} or ${names.at(-1) ?? ''}`
}

function listed(columns: readonly string[]): string {
  const shown = columns.slice(0, namedColumnsMax).map((column) => `"${shortText(column)}"`)
  const others = columns.length - shown.length
  if (shown.length === 0) return 'none'
  return others === 0 ? shown.join(', ') : `${shown.join(', ')} and ${others} more`
}
