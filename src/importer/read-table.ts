import { inflate } from './inflate.ts'
import type { TableRow } from './table-row.ts'

/**
 * Reads the rows of a list as it streams by: CSV with a header, or whatever `readRows` reads,
 * which begins with `{` or `[`; each also compressed by gzip.
 *
 * CSV is UTF-8 as in RFC 4180, its cells separated by commas, semicolons or tabs. Cells stay texts. A
 * row that cannot be used is a bad row and costs no other. Whatever the size of the list, of CSV no
 * more than one row is kept in memory.
 *
 * @param emptyHint - what to do about a list that has nothing in it, as a sentence
 * @returns the rows in the order of the list, in groups as they become known; of CSV the header first
 * @throws EvrouteError `cannot_read_file` where there is nothing, a header that cannot be used or that is
 * all there is and has no line break behind it, and behind the rows that could be read where the
 * compressed data is damaged
 */
export async function* readTable(
  input: AsyncIterable<Uint8Array>,
  emptyHint: string,
): AsyncGenerator<readonly TableRow[]> {
  // Loaded late, with the CSV parser, because readers of calls don't need it.
  const [{ TableReader }, { cutOffHeader, emptyList, unreadableTable }] = await Promise.all([
    import('./table-reader.ts'),
    import('./csv-header.ts'),
  ])
  const reader = new TableReader()
  for await (const part of inflate(input)) {
    if (part.kind === 'damaged') throw unreadableTable(part.message, 'Make the list again.')
    const rows = reader.push(part.bytes)
    if (rows.length > 0) yield rows
  }
  const rows = reader.end()
  if (reader.isEmpty) throw emptyList(emptyHint)
  if (rows.at(-1)?.kind === 'header') throw cutOffHeader()
  if (rows.length > 0) yield rows
}
