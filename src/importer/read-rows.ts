import { inflate } from './inflate.ts'
import { RowReader } from './row-reader.ts'
import type { Row } from './row.ts'

/**
 * Reads the rows of a file as it streams by: NDJSON, a JSON array, a batch document
 * (`{"batch":[...]}`), one object over several lines or several of them one after the other; each
 * also compressed by gzip. The format is told by the content.
 *
 * A row that cannot be used is a bad row and costs no other. Whatever the size of the file, memory holds at
 * most 1 MiB of one row, or `rowBytesMax`. The `context` and `integrations` of a batch are merged under each
 * of its calls. They are bad rows if they follow the calls.
 *
 * @param rowBytesMax - a line with more bytes is a bad row; by default what a call may have
 * @returns the rows in the order of the file, in groups as they become known
 */
export async function* readRows(
  input: AsyncIterable<Uint8Array>,
  rowBytesMax?: number,
): AsyncGenerator<readonly Row[]> {
  const reader = new RowReader(rowBytesMax)
  for await (const part of inflate(input)) {
    const rows = part.kind === 'text' ? reader.push(part.bytes) : reader.end(part.message)
    if (rows.length > 0) yield rows
    if (part.kind === 'damaged') return
  }
  const rows = reader.end()
  if (rows.length > 0) yield rows
}
