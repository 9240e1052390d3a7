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
  const [{ CsvReader }, { cutOffHeader, emptyList, unreadableTable }] = await Promise.all([
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
  if (reader.isEmpty) throw emptyList(emptyHint)
  if (rows.at(-1)?.kind === 'header') throw cutOffHeader()
  if (rows.length > 0) yield rows
}
