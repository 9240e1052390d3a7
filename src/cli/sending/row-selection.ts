import { resolve } from 'node:path'
import { callOfArchivedRow } from '../../archive/index.ts'
import { openInput, readRows, type Row } from '../../importer/index.ts'
import { parseTimestamp, type EventType } from '../../model/index.ts'
import type { Io } from '../io.ts'
import { tellOfTerminalInput } from '../terminal-input.ts'
import { identifyRow } from './row-identity.ts'
import type { RowGroup } from './row-source.ts'

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
 * The rows of several files, one file after the other. Rows that are not selected are passed over;
 * bad rows never are. A row without a messageId gets one that stays the same when the file is read again.
 */
export class SelectedRows implements AsyncIterable<RowGroup> {
  readonly #paths: readonly string[]
  readonly #selection: RowSelection
  readonly #io: Io
  #skipped = 0

  /** @param paths - the files, `-` for stdin */
  constructor(paths: readonly string[], selection: RowSelection, io: Io) {
    this.#paths = paths
    this.#selection = selection
    this.#io = io
  }

  /** Rows that were passed over so far. */
  get skipped(): number {
    return this.#skipped
  }

  /** Reads the files from their beginning. */
  async *[Symbol.asyncIterator](): AsyncGenerator<RowGroup> {
    tellOfTerminalInput(this.#paths, this.#io)
    // All are opened first, so that a wrong name costs nothing.
    const inputs = await Promise.all(
      this.#paths.map(async (path) => ({ path, bytes: await openInput(path, this.#io.stdin) })),
    )
    for (const { path, bytes } of inputs) {
      const file = inputs.length > 1 ? path : undefined
      const origin = path === '-' ? path : resolve(path)
      let index = 0
      for await (const rows of readRows(bytes)) {
        const identified = rows
          .map(callOfRow)
          .map((row) => identifyRow(row, { file: origin, index: index++ }))
        yield { file, rows: this.#select(identified) }
      }
    }
  }

  #select(rows: readonly Row[]): readonly Row[] {
    const selected = rows.filter((row) => isSelected(row, this.#selection))
    this.#skipped += rows.length - selected.length
    return selected
  }
}

/** The call of a row, which is not quite the row where that is one of an archive. */
function callOfRow(row: Row): Row {
  return row.kind === 'bad' ? row : { ...row, value: callOfArchivedRow(row.value) }
}

function isSelected(row: Row, { types, sinceMs, untilMs }: RowSelection): boolean {
  if (row.kind === 'bad') return true
  if (types !== undefined && !types.some((type) => type === row.value['type'])) return false
  if (sinceMs === undefined && untilMs === undefined) return true
  // A call without a readable timestamp happened at no time that could be asked for.
  const atMs =
    parseTimestamp(row.value['timestamp']) ?? parseTimestamp(row.value['originalTimestamp'])
  if (atMs === undefined) return false
  return atMs >= (sinceMs ?? -Infinity) && atMs < (untilMs ?? Infinity)
}
