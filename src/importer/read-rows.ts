import { inflate } from './inflate.ts'
import { RowReader } from './row-reader.ts'
import type { Row } from './row.ts'

/**
 * Reads the rows of a stream: NDJSON, a JSON array, a batch document (`{"batch":[...]}`), or objects over several
 * lines. All may be gzipped. The format is detected from the content.
 *
 * An invalid row is a bad row and does not affect others. Memory holds at most 1 MiB of one row, or `rowBytesMax` if
 * that is more. The `context` and `integrations` of a batch are defaults for each of its calls. They are bad rows if
 * they come after the calls.
 *
 * @param rowBytesMax - maximum bytes of a line; by default the limit of a call
 * @returns the rows in order, in groups
 * @throws EvrouteError `cannot_read_file` if the input is neither JSON nor text in UTF-8
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
