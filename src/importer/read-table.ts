import { EvrouteError } from '../model/index.ts'
import { inflate } from './inflate.ts'
import { RowReader } from './row-reader.ts'
import type { TableRow } from './row.ts'

/**
 * Reads the rows of a list in groups: CSV with a header, or JSON as in `readRows`. Both may be gzipped.
 *
 * CSV is UTF-8 as in RFC 4180, with commas, semicolons or tabs between cells. Cells remain strings. An invalid row is
 * a bad row and does not affect others. Memory holds at most one row of CSV.
 *
 * @param emptyHint - what to do about an empty list, as a sentence
 * @throws EvrouteError `cannot_read_file` for an empty list or an unusable header; for damaged gzip, after the rows
 * before the damage
 */
export async function* readTable(
  input: AsyncIterable<Uint8Array>,
  emptyHint: string,
): AsyncGenerator<readonly TableRow[]> {
  // Load the CSV parser only when it is needed: programs that read calls don't need it.
  const [{ CsvReader }, { unreadableTable }] = await Promise.all([
    import('./csv-reader.ts'),
    import('./csv-header.ts'),
  ])
  const reader = new RowReader<TableRow>({ openTable: (line) => new CsvReader(line) })
  for await (const part of inflate(input)) {
    if (part.kind === 'damaged') throw unreadableTable(part.message, 'Create the list again.')
    const rows = reader.push(part.bytes)
    if (rows.length > 0) yield rows
  }
  const rows = reader.end()
  if (reader.isEmpty) {
    // The program that wrote the list has probably failed.
    const message = "The list is empty: it doesn't even have a header"
    throw new EvrouteError({ code: 'cannot_read_file', message, hint: emptyHint })
  }
  // The rows after the header may have been lost.
  if (rows.at(-1)?.kind === 'header') {
    const fix = 'If there are no rows, end the header with a line break.'
    const hint = `${fix} curl keeps line breaks only with --data-binary.`
    throw unreadableTable('it ends within its header', hint)
  }
  if (rows.length > 0) yield rows
}
