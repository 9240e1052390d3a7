import { EvrouteError, shortText } from '../model/index.ts'

/** What separates the cells of a CSV, the likelier first. */
export const csvDelimiters: readonly string[] = [',', ';', '\t']

/** The one that stands most often in the header outside of quotes; the first where none does. */
export function detectDelimiter(header: string): string {
  const unquoted = header.replace(/"(?:[^"]|"")*"/g, '')
  const counts = csvDelimiters.map((delimiter) => unquoted.split(delimiter).length)
  return csvDelimiters[counts.indexOf(Math.max(...counts))] ?? ','
}

/**
 * The names of the columns, without the blanks around them; empty for a column that has none.
 *
 * @throws EvrouteError `cannot_read_file` where a name is there twice
 */
export function columnNames(cells: readonly string[]): readonly string[] {
  const names = cells.map((cell) => cell.trim())
  const repeated = names.find((name, index) => name !== '' && names.indexOf(name) < index)
  if (repeated === undefined) return names
  throw unreadableTable(
    `its header names the column "${shortText(repeated)}" twice`,
    'Give each column a name of its own.',
  )
}

/**
 * Reports an empty list. Most likely, the program that should have written it failed.
 *
 * @param hint - what to pass for a list without users
 */
export function emptyList(hint: string): EvrouteError {
  return new EvrouteError({
    code: 'cannot_read_file',
    message: 'The list is empty: it has not even a header',
    hint,
  })
}

/** Says that a header is the last that came: rows may have been lost, or the line breaks between them. */
export function cutOffHeader(): EvrouteError {
  return unreadableTable(
    'it ends within its header',
    'End the header with a line break where there are no rows; curl keeps line breaks with --data-binary only.',
  )
}

/** Says that nothing of a table, or nothing more of it, can be read. */
export function unreadableTable(why: string, hint: string): EvrouteError {
  return new EvrouteError({
    code: 'cannot_read_file',
    message: `Cannot read the list: ${why}`,
    hint,
  })
}
