import { createHash } from 'node:crypto'
import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { callOfArchivedRow } from '../../archive/index.ts'
import { ForeignFormatError, openInput, type Row } from '../../importer/index.ts'
import {
  captureRowBytesMax,
  isJsonObject,
  limits,
  parseTimestamp,
  type EventType,
  type JsonObject,
} from '../../model/index.ts'
import { stoppable } from '../../runtime/index.ts'
import type { Io } from '../io.ts'
import { isCapturedRow, isListenRecord } from './captured-request.ts'
import { InputMeter, readInput, type RowGroup, type RowSource } from './row-source.ts'

/** Which rows to select, by type and by time in milliseconds since 1970. An undefined condition selects all. */
export interface RowSelection {
  readonly types: readonly EventType[] | undefined
  readonly sinceMs: number | undefined
  readonly untilMs: number | undefined
}

interface ReadRows {
  readonly path: string
  readonly rows: readonly Row[]
  /** The index of `rows[0]` in the file. */
  readonly from: number
}

/** Maximum number of groups to read ahead while looking for the first good row. */
const heldGroupsMax = 64

/**
 * The selected rows of several files, one file after another, and all bad rows. The first good row decides whether
 * the files contain calls or captured requests. A call without a messageId gets the same one in every run.
 */
export class SelectedRows implements RowSource {
  readonly #paths: readonly string[]
  readonly #selection: RowSelection
  readonly #io: Io
  readonly #meter: InputMeter
  readonly #groups: AsyncGenerator<ReadRows>
  readonly #held: ReadRows[] = []
  #isCapture: Promise<boolean> | undefined
  #skipped = 0

  /** @param paths - the files, `-` for stdin */
  constructor(paths: readonly string[], selection: RowSelection, io: Io) {
    this.#paths = paths
    this.#selection = selection
    this.#io = io
    this.#meter = new InputMeter(io)
    this.#groups = this.#read()
  }

  get skipped(): number {
    return this.#skipped
  }

  total(parsed: number): number | undefined {
    return this.#meter.total(parsed + this.#skipped)
  }

  /** Reads ahead to the first good row, and returns whether it is from a capture. False if 64 groups have none. */
  async holdCapture(): Promise<boolean> {
    this.#isCapture ??= this.#readToGoodRow()
    return (await stoppable(this.#isCapture, this.#io.stop)) ?? false
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<RowGroup> {
    const isCapture = await this.holdCapture()
    try {
      for await (const group of this.#heldAndLater()) {
        const file = this.#paths.length > 1 ? group.path : undefined
        yield { file, rows: isCapture ? this.#captured(group.rows) : this.#calls(group) }
      }
    } finally {
      await this.#groups.return(undefined)
    }
  }

  async *#heldAndLater(): AsyncGenerator<ReadRows> {
    yield* this.#held.splice(0)
    yield* this.#groups
  }

  async #readToGoodRow(): Promise<boolean> {
    while (this.#held.length < heldGroupsMax) {
      const next = await this.#groups.next()
      if (next.done === true) return false
      this.#held.push(next.value)
      const row = next.value.rows.find(({ kind }) => kind === 'row')
      if (row?.kind !== 'row') continue
      // A capture can begin with the `ready` record of `listen`.
      const isReady = isListenRecord(row.value) && row.value['kind'] === 'ready'
      return isReady || isCapturedRow(row.value)
    }
    return false
  }

  async *#read(): AsyncGenerator<ReadRows> {
    // Open all files first, so that nothing is sent if a name is wrong.
    const inputs = await Promise.all(
      this.#paths.map(async (path) => ({ path, bytes: await this.#meter.open(path) })),
    )
    if (inputs.length > 1) for (const { path } of inputs) await checkFormat(path)
    for (const { path, bytes } of inputs) {
      let from = 0
      for await (const rows of readInput(path, bytes, captureRowBytesMax)) {
        yield { path, rows, from }
        from += rows.length
      }
    }
  }

  #captured(rows: readonly Row[]): readonly Row[] {
    const requests = rows.filter(
      (row) => row.kind === 'bad' || !isListenRecord(row.value) || isCapturedRow(row.value),
    )
    return this.#select(requests.map(requestOfRow), (row) => {
      const content = row['body']
      return isJsonObject(content) ? content : row
    })
  }

  #calls({ path, rows, from }: ReadRows): readonly Row[] {
    const file = path === '-' ? path : resolve(path)
    const identified = rows.map((row, at) =>
      identifyRow(callOfRow(row), { file, index: from + at }),
    )
    return this.#select(identified, (row) => row)
  }

  /** @param callOf - returns the call in a row. Its type and timestamp decide whether the row is selected */
  #select(rows: readonly Row[], callOf: (row: JsonObject) => JsonObject): readonly Row[] {
    const { types } = this.#selection
    const selected = rows.flatMap((row) => {
      if (row.kind === 'bad') return row
      const call = callOf(row.value)
      if (types !== undefined && !types.some((type) => type === call['type'])) return []
      return selectByTime(row, call, this.#selection) ?? []
    })
    this.#skipped += rows.length - selected.length
    return selected
  }
}

/** Throws a ForeignFormatError that names the file. Doesn't check pipes, because they can be read only once. */
async function checkFormat(path: string): Promise<void> {
  if (path === '-' || !(await stat(path)).isFile()) return
  const rows = readInput(path, await openInput(path), captureRowBytesMax)
  await rows.next().catch((error: unknown) => {
    // Ignore other errors: they are reported when the file is read again.
    if (error instanceof ForeignFormatError) throw error
  })
  await rows.return(undefined)
}

function requestOfRow(row: Row): Row {
  if (row.kind === 'bad' || isCapturedRow(row.value)) return row
  const message = 'The first row is a captured request, but this row is not'
  return { kind: 'bad', line: row.line, code: 'wrong_type', message }
}

/** Returns the call in a row, which may be a row of an archive. Rejects a captured request. */
function callOfRow(row: Row): Row {
  if (row.kind === 'bad') return row
  const { line, bytes, value } = row
  if (bytes > limits.callBytesMax) {
    const message = `A row must have at most ${limits.callBytesMax} bytes`
    return { kind: 'bad', line, code: 'event_too_large', message }
  }
  if (isCapturedRow(value)) {
    const message = 'The first row is a call, but this row is a captured request'
    return { kind: 'bad', line, code: 'wrong_type', message }
  }
  return { ...row, value: callOfArchivedRow(value) }
}

/** Returns undefined if the row is outside the times. Rejects a row whose time cannot be read. */
function selectByTime(
  row: Row,
  { timestamp, originalTimestamp }: JsonObject,
  { sinceMs = -Infinity, untilMs = Infinity }: RowSelection,
): Row | undefined {
  if (sinceMs === -Infinity && untilMs === Infinity) return row
  const atMs = parseTimestamp(timestamp) ?? parseTimestamp(originalTimestamp)
  if (atMs !== undefined) return atMs >= sinceMs && atMs < untilMs ? row : undefined
  if (!(timestamp ?? originalTimestamp)) return undefined
  const message = 'Cannot select the row by time: its timestamp is not ISO 8601'
  return { kind: 'bad', line: row.line, code: 'wrong_type', message }
}

/** Gives a row without a messageId an id from its file, index and content, so that every run gives it the same id. */
export function identifyRow(
  row: Row,
  { file, index }: { readonly file: string; readonly index: number },
): Row {
  if (row.kind === 'bad') return row
  const { messageId } = row.value
  if (messageId !== undefined && messageId !== null && messageId !== '') return row
  const hash = createHash('sha256')
    .update(`${file}\n${index}\n${JSON.stringify(row.value)}`)
    .digest('hex')
  return { ...row, value: { ...row.value, messageId: `row-${hash.slice(0, 32)}` } }
}
