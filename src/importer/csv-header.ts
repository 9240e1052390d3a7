import { EvrouteError, shortText } from '../model/index.ts'

/** The possible separators of cells, the most likely first. */
export const csvDelimiters: readonly string[] = [',', ';', '\t']

/** Returns the most frequent separator in the header, ignoring quoted text. In a tie, returns the most likely one. */
export function detectDelimiter(header: string): string {
  const unquoted = header.replace(/"(?:[^"]|"")*"/g, '')
  const counts = csvDelimiters.map((delimiter) => unquoted.split(delimiter).length)
  return csvDelimiters[counts.indexOf(Math.max(...counts))] ?? ','
}

/** Returns the trimmed names of the columns, which may be empty. Throws `cannot_read_file` for a repeated name. */
export function columnNames(cells: readonly string[]): readonly string[] {
  const names = cells.map((cell) => cell.trim())
  const repeated = names.find((name, index) => name !== '' && names.indexOf(name) < index)
  if (repeated === undefined) return names
  throw unreadableTable(
    `its header has two columns named "${shortText(repeated)}"`,
    'Give each column its own name.',
  )
}

/** Makes the error for a table that cannot be read completely. */
export function unreadableTable(why: string, hint: string): EvrouteError {
  return new EvrouteError({
    code: 'cannot_read_file',
    message: `Cannot read the list: ${why}`,
    hint,
  })
}
