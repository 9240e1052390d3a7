import { SettingError, nearestName, shortText, type JsonObject } from '../model/index.ts'

/** Maximum number of columns to name in a message. */
const namedColumnsMax = 20

/**
 * Checks that a list has the required columns, because a mistyped name would look like an empty column. Checks CSV at
 * the header, but JSON at the end of the list, because each row has its own fields.
 */
export class ListColumns {
  readonly #setting: string
  readonly #names: readonly string[]
  readonly #missing: Set<string>
  #firstRow: readonly string[] | undefined

  /** @param setting - the setting that names the required columns, such as `idColumn` */
  constructor(setting: string, names: readonly string[]) {
    this.#setting = setting
    this.#names = names
    this.#missing = new Set(names)
  }

  /** Checks the header of a CSV. Throws SettingError if a column is missing. */
  readHeader(columns: readonly string[]): void {
    const missing = this.#names.find((name) => !columns.includes(name))
    if (missing !== undefined) throw missingColumn(this.#setting, missing, columns)
    this.#missing.clear()
  }

  /** Notes which of the required columns a row has. */
  readRow(row: JsonObject): void {
    this.#firstRow ??= Object.keys(row)
    if (this.#missing.size === 0) return
    for (const name of this.#missing) if (Object.hasOwn(row, name)) this.#missing.delete(name)
  }

  /** Call it at the end of the list. Throws SettingError if there were rows, but a column was in none of them. */
  readEnd(): void {
    const [missing] = this.#missing
    if (missing === undefined || this.#firstRow === undefined) return
    throw missingColumn(this.#setting, missing, this.#firstRow)
  }
}

/** Throws SettingError if a CSV has none of the default columns. */
export function checkRecognised(
  setting: string,
  recognised: readonly string[],
  columns: readonly string[],
): void {
  if (recognised.some((name) => columns.includes(name))) return
  throw new SettingError(
    setting,
    `The list has no column ${alternatives(recognised)}: it has ${listed(columns)}`,
    `Name the column that contains the ids with ${flagOf(setting)}.`,
  )
}

function missingColumn(setting: string, name: string, columns: readonly string[]): SettingError {
  const shown = shortText(name)
  const known = columns.slice(0, namedColumnsMax).map((column) => shortText(column))
  const nearest = nearestName(shown, known)
  return new SettingError(
    setting,
    `The list has no column "${shown}": it has ${listed(columns)}`,
    `${nearest === undefined ? '' : `Did you mean "${nearest}"? `}Name one of these columns with ${flagOf(setting)}.`,
  )
}

function flagOf(setting: string): string {
  const flag = setting.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
  return `--${flag} (${setting} in the admin API)`
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
