import { openInput, readRows, type Row } from '../../importer/index.ts'
import { parseTimestamp, type EventType } from '../../model/index.ts'
import type { Io } from '../io.ts'
import { tellOfTerminalInput } from '../terminal-input.ts'

/** Which rows of the files are wanted; undefined means all. */
export interface RowSelection {
  /** Of these types. */
  readonly types: readonly EventType[] | undefined
  /** With a timestamp from then on, in milliseconds since 1970. */
  readonly sinceMs: number | undefined
  /** With a timestamp before then, in milliseconds since 1970. */
  readonly untilMs: number | undefined
}

/**
 * The rows of several files, one file after the other. Rows that are not selected are passed over:
 * nobody counts them. Bad rows are never passed over.
 */
export async function* selectedRows(
  paths: readonly string[],
  selection: RowSelection,
  io: Io,
): AsyncGenerator<readonly Row[]> {
  tellOfTerminalInput(paths, io)
  // All are opened first, so that a wrong name costs nothing.
  const inputs = await Promise.all(paths.map((path) => openInput(path, io.stdin)))
  for (const input of inputs) {
    for await (const rows of readRows(input)) yield rows.filter((row) => isSelected(row, selection))
  }
}

function isSelected(row: Row, { types, sinceMs, untilMs }: RowSelection): boolean {
  if (row.kind === 'bad') return true
  if (types !== undefined && !types.some((type) => type === row.value['type'])) return false
  if (sinceMs === undefined && untilMs === undefined) return true
  // A call without a readable timestamp happened at no time that could be asked for.
  const atMs = parseTimestamp(row.value['originalTimestamp'] ?? row.value['timestamp'])
  if (atMs === undefined) return false
  return atMs >= (sinceMs ?? -Infinity) && atMs < (untilMs ?? Infinity)
}
