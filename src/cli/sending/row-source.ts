import { stat } from 'node:fs/promises'
import { openInput, readRows, type Row } from '../../importer/index.ts'
import {
  isJsonObject,
  liftIntegrations,
  type EventType,
  type JsonObject,
  type JsonValue,
} from '../../model/index.ts'
import { aboutFile, tellOfTerminalInput } from '../input.ts'
import type { Io } from '../io.ts'
import { isCapturedRow } from './captured-request.ts'

/** The changes that flags make to every call. */
export interface RowChanges {
  /** The type to give rows that have none. A row of a different type is rejected. */
  readonly type?: EventType | undefined
  readonly timestamp?: string | undefined
  readonly integrations?: Readonly<Record<string, boolean>> | undefined
}

/** Rows that were read together. `file` is undefined unless the command reads several files. */
export interface RowGroup {
  readonly file?: string | undefined
  readonly rows: readonly Row[]
}

/** The rows of a command. They can be read once. */
export interface RowSource extends AsyncIterable<RowGroup> {
  /** How many rows were skipped so far, because they were not selected; undefined if the command sends all rows. */
  readonly skipped?: number
  /** Estimates the total number of rows from the number of parsed rows; undefined if it is unknown. */
  total(parsed: number): number | undefined
}

/** Rows are passed on in groups, so that a million rows cost only a thousand awaits. */
const groupRows = 1_000
/** Progress in a gzipped file is counted in steps of this size. */
const gzipStepBytes = 1_024

/** Reads the rows of a file, or of stdin for `-`, and applies the changes. */
export function fileRows(path: string, changes: RowChanges, io: Io): RowSource {
  const meter = new InputMeter(io)
  return {
    total: (parsed) => meter.total(parsed),
    async *[Symbol.asyncIterator]() {
      for await (const rows of aboutFile(path, readRows(await meter.open(path)))) {
        yield { rows: rows.map((row) => changeRow(row, changes)) }
      }
    },
  }
}

/** Applies the changes to one call, and repeats it. The client gives each copy its own messageId. */
export function repeatedRows(call: JsonObject, count: number, changes: RowChanges): RowSource {
  const value = changeRow({ kind: 'row', line: 1, value: call, bytes: 0 }, changes)
  return {
    total: () => count,
    async *[Symbol.asyncIterator]() {
      for (let from = 1; from <= count; from += groupRows) {
        const length = Math.min(groupRows, count - from + 1)
        const rows = Array.from({ length }, (_, index) => ({ ...value, line: from + index }))
        yield await Promise.resolve({ rows })
      }
    },
  }
}

function changeRow(row: Row, { type, timestamp, integrations }: RowChanges): Row {
  if (row.kind === 'bad') return row
  if (isCapturedRow(row.value)) {
    const message = 'The row is a captured request. To send it again, use `evroute replay`'
    return { kind: 'bad', line: row.line, code: 'wrong_type', message }
  }
  const value: Record<string, JsonValue | undefined> = { ...liftIntegrations(row.value) }
  if (type !== undefined) {
    value['type'] ??= type
    if (value['type'] !== type) {
      const found = typeof value['type'] === 'string' ? value['type'].slice(0, 40) : 'not a string'
      const message = `The row's type is ${found}, but the command sends only ${type}`
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

/** Opens inputs, and measures how much of them has been read. */
export class InputMeter {
  readonly #io: Io
  #bytesRead = 0
  /** The size of all inputs; NaN if one is a pipe. */
  #size = 0

  constructor(io: Io) {
    this.#io = io
  }

  /** Estimates the number of all rows from the number of parsed rows; undefined if an input is a pipe. */
  total(parsed: number): number | undefined {
    if (!(this.#size > 0) || this.#bytesRead === 0) return undefined
    return Math.round((parsed * this.#size) / Math.min(this.#bytesRead, this.#size))
  }

  /** Opens a file, or stdin for `-`. Throws `cannot_read_file`. */
  async open(path: string): Promise<AsyncIterable<Uint8Array>> {
    tellOfTerminalInput([path], this.#io)
    const input = await openInput(path, this.#io.stdin)
    this.#size += path === '-' ? NaN : (await stat(path)).size || NaN
    return this.#counted(input)
  }

  async *#counted(input: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    let isGzip: boolean | undefined
    for await (const chunk of input) {
      isGzip ??= chunk[0] === 0x1f && chunk[1] === 0x8b
      // One chunk can contain a whole gzipped file. Yield it in parts, so that progress grows in steps.
      const step = isGzip ? gzipStepBytes : chunk.length
      for (let start = 0; start < chunk.length; start += step) {
        const part = chunk.subarray(start, start + step)
        this.#bytesRead += part.length
        yield part
      }
    }
  }
}
