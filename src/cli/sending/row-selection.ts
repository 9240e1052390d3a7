import { createHash } from 'node:crypto'
import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { callOfArchivedRow } from '../../archive/index.ts'
import { ForeignFormatError, openInput, readRows, type Row } from '../../importer/index.ts'
import { captureRowBytesMax, limits, parseTimestamp, type EventType } from '../../model/index.ts'
import { stoppable } from '../../runtime/index.ts'
import { aboutFile } from '../input.ts'
import type { Io } from '../io.ts'
import { callIn, isCapturedRow, isListenRecord } from './captured-request.ts'
import { InputMeter, type RowSource } from './row-source.ts'

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
 * Opens files, or stdin for `-`, and selects some of their rows and all bad rows. The first good row decides whether
 * the files contain calls or captured requests; without a good row in the first 64 groups, they contain calls. A call
 * without a messageId gets the same one in every run. Returns the rows, and whether they are captured requests.
 */
export async function selectRows(
  paths: readonly string[],
  selection: RowSelection,
  io: Io,
): Promise<{ readonly rows: RowSource; readonly isCapture: boolean }> {
  const meter = new InputMeter(io)
  const groups = readGroups(paths, meter)
  const held: ReadRows[] = []
  const isCapture = (await stoppable(readToGoodRow(groups, held), io.stop)) ?? false
  let skipped = 0
  const select = (group: ReadRows): readonly Row[] => {
    const rows = isCapture ? requestsIn(group) : callsIn(group)
    const selected = rows.flatMap((row) => selectRow(row, selection) ?? [])
    skipped += rows.length - selected.length
    return selected
  }
  const rows: RowSource = {
    get skipped() {
      return skipped
    },
    total: (parsed) => meter.total(parsed + skipped),
    async *[Symbol.asyncIterator]() {
      try {
        for await (const group of following(held, groups)) {
          yield { file: paths.length > 1 ? group.path : undefined, rows: select(group) }
        }
      } finally {
        await groups.return(undefined)
      }
    },
  }
  return { rows, isCapture }
}

async function* following(
  held: readonly ReadRows[],
  groups: AsyncIterable<ReadRows>,
): AsyncGenerator<ReadRows> {
  yield* held
  yield* groups
}

/** Reads groups into `held` up to the first good row. Returns whether it is from a capture. */
async function readToGoodRow(groups: AsyncGenerator<ReadRows>, held: ReadRows[]): Promise<boolean> {
  while (held.length < heldGroupsMax) {
    const next = await groups.next()
    if (next.done === true) return false
    held.push(next.value)
    const row = next.value.rows.find(({ kind }) => kind === 'row')
    if (row?.kind !== 'row') continue
    // A capture can begin with the `ready` record of `listen`.
    const isReady = isListenRecord(row.value) && row.value['kind'] === 'ready'
    return isReady || isCapturedRow(row.value)
  }
  return false
}

async function* readGroups(paths: readonly string[], meter: InputMeter): AsyncGenerator<ReadRows> {
  // Open all files first, so that nothing is sent if a name is wrong.
  const inputs = await Promise.all(
    paths.map(async (path) => ({ path, bytes: await meter.open(path) })),
  )
  if (inputs.length > 1) for (const { path } of inputs) await checkFormat(path)
  for (const { path, bytes } of inputs) {
    let from = 0
    for await (const rows of aboutFile(path, readRows(bytes, captureRowBytesMax))) {
      yield { path, rows, from }
      from += rows.length
    }
  }
}

/** Throws a ForeignFormatError that names the file. Doesn't check pipes, because they can be read only once. */
async function checkFormat(path: string): Promise<void> {
  if (path === '-' || !(await stat(path)).isFile()) return
  const rows = aboutFile(path, readRows(await openInput(path), captureRowBytesMax))
  await rows.next().catch((error: unknown) => {
    // Ignore other errors: they are reported when the file is read again.
    if (error instanceof ForeignFormatError) throw error
  })
  await rows.return(undefined)
}

function requestsIn({ rows }: ReadRows): readonly Row[] {
  return rows.flatMap((row) => {
    if (row.kind === 'bad' || isCapturedRow(row.value)) return row
    if (isListenRecord(row.value)) return []
    const message = 'The first row is a captured request, but this row is not'
    return { kind: 'bad', line: row.line, code: 'wrong_type', message }
  })
}

function callsIn({ path, rows, from }: ReadRows): readonly Row[] {
  const file = path === '-' ? path : resolve(path)
  return rows.map((row, at) => identifyRow(callOfRow(row), { file, index: from + at }))
}

/** Returns the call in a row, which may be a row of an archive. Rejects a captured request. */
function callOfRow(row: Row): Row {
  if (row.kind === 'bad') return row
  const { line, bytes, value } = row
  if (bytes > limits.callBytesMax) {
    const message = `A row must be at most ${limits.callBytesMax} bytes`
    return { kind: 'bad', line, code: 'event_too_large', message }
  }
  if (isCapturedRow(value)) {
    const message = 'The first row is a call, but this row is a captured request'
    return { kind: 'bad', line, code: 'wrong_type', message }
  }
  return { ...row, value: callOfArchivedRow(value) }
}

/** Returns undefined if the row is not selected. Rejects a row whose time cannot be read. */
function selectRow(row: Row, selection: RowSelection): Row | undefined {
  if (row.kind === 'bad') return row
  const { type, timestamp, originalTimestamp } = callIn(row.value)
  const { types, sinceMs, untilMs } = selection
  if (types?.some((each) => each === type) === false) return undefined
  if (sinceMs === undefined && untilMs === undefined) return row
  const atMs = parseTimestamp(timestamp) ?? parseTimestamp(originalTimestamp)
  if (atMs !== undefined) return isWithin(atMs, selection) ? row : undefined
  if (!(timestamp ?? originalTimestamp)) return undefined
  const message = 'Cannot select the row by time: its timestamp is not ISO 8601'
  return { kind: 'bad', line: row.line, code: 'wrong_type', message }
}

function isWithin(
  atMs: number,
  { sinceMs = -Infinity, untilMs = Infinity }: RowSelection,
): boolean {
  return atMs >= sinceMs && atMs < untilMs
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
