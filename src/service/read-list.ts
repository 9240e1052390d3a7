import { readTable, type TableRow } from '../importer/index.ts'

/**
 * Reads the rows of an audience's list.
 *
 * @throws EvrouteError `cannot_read_file` during iteration, also for an empty list, because the program that
 * wrote it may have failed
 */
export function readList(list: AsyncIterable<Uint8Array>): AsyncIterable<readonly TableRow[]> {
  return readTable(list, 'To remove all members, send a header without rows, or [].')
}
