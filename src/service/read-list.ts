import { readTable, type TableRow } from '../importer/index.ts'

/**
 * The rows of the list of an audience.
 *
 * @throws EvrouteError `cannot_read_file` from the iteration: of a list that has nothing in it, too, since
 * whatever should have made it may have failed
 */
export function readList(list: AsyncIterable<Uint8Array>): AsyncIterable<readonly TableRow[]> {
  return readTable(list, 'A header without rows, or [], lets everybody leave.')
}
