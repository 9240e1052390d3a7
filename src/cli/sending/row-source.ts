import { openInput, readRows, type Row } from '../../importer/index.ts'
import {
  isJsonObject,
  liftIntegrations,
  type EventType,
  type JsonObject,
  type JsonValue,
} from '../../model/index.ts'
import type { Io } from '../io.ts'
import { tellOfTerminalInput } from '../terminal-input.ts'
import { isCapturedRow } from './captured-request.ts'

/** What the command line changes in every call. */
export interface RowChanges {
  /** The type of rows that have none; a row of another type is rejected. */
  readonly type: EventType | undefined
  /** Replaces the call's own. */
  readonly timestamp: string | undefined
  /** Added to the call's own, name by name. */
  readonly integrations: Readonly<Record<string, boolean>> | undefined
}

/** Rows that become known together. */
export interface RowGroup {
  /** The file they are from; undefined where there is only one input. */
  readonly file?: string | undefined
  /** The rows, in their order. */
  readonly rows: readonly Row[]
}

/** Rows are handed on in groups, so that a million of them cost a thousand waits. */
const groupRows = 1_000

/** The rows of a file or of stdin, changed as asked. */
export async function* fileRows(
  path: string,
  changes: RowChanges,
  io: Io,
): AsyncGenerator<RowGroup> {
  tellOfTerminalInput([path], io)
  const input = await openInput(path, io.stdin)
  for await (const rows of readRows(input)) {
    yield { rows: rows.map((row) => changeRow(row, changes)) }
  }
}

/** The same call again and again, changed as asked; each gets an id of its own when it is sent. */
export async function* repeatedRows(
  call: JsonObject,
  count: number,
  changes: RowChanges,
): AsyncGenerator<RowGroup> {
  const value = changeRow({ kind: 'row', line: 1, value: call, bytes: 0 }, changes)
  for (let from = 1; from <= count; from += groupRows) {
    const length = Math.min(groupRows, count - from + 1)
    const rows = Array.from({ length }, (_, index) => ({ ...value, line: from + index }))
    yield await Promise.resolve({ rows })
  }
}

function changeRow(row: Row, { type, timestamp, integrations }: RowChanges): Row {
  if (row.kind === 'bad') return row
  if (isCapturedRow(row.value)) {
    const message = 'The row is a captured request: `evroute replay` sends it again'
    return { kind: 'bad', line: row.line, code: 'wrong_type', message }
  }
  const value: Record<string, JsonValue | undefined> = { ...liftIntegrations(row.value) }
  if (type !== undefined) {
    value['type'] ??= type
    if (value['type'] !== type) {
      const found = typeof value['type'] === 'string' ? value['type'].slice(0, 40) : 'no text'
      const message = `The row's type is ${found}, and ${type} was asked for`
      return { kind: 'bad', line: row.line, code: 'wrong_type', message }
    }
  }
  if (timestamp !== undefined) value['timestamp'] = timestamp
  if (integrations !== undefined) {
    const own = isJsonObject(value['integrations']) ? value['integrations'] : {}
    value['integrations'] = { ...own, ...integrations }
  }
  return { ...row, value }
}
