import { readTable, type TableRow } from '../importer/index.ts'

/** Reads the rows of an audience's list. Throws `cannot_read_file` for an empty list, whose program may have failed. */
export function readList(list: AsyncIterable<Uint8Array>): AsyncIterable<readonly TableRow[]> {
  return readTable(list, 'To remove all members, send a header without rows, or [].')
}
