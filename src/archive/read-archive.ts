import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { openInput, readRows } from '../importer/index.ts'
import { messageOf, parseTimestamp, type JsonObject } from '../model/index.ts'
import { archiveFolder, isGone, isTemporary, namesIn } from './archive-files.ts'
import { readArchivedRow, rowBytesMax } from './archived-row.ts'

/** Selects the events in an archive that meet all conditions that are set. */
export interface ArchiveSelection {
  /** Accepted at this time or later, in milliseconds since 1970. */
  readonly sinceMs?: number | undefined
  /** Accepted before this time, in milliseconds since 1970. */
  readonly untilMs?: number | undefined
  readonly types?: readonly string[] | undefined
  /** Selects track calls with one of these names. */
  readonly eventNames?: readonly string[] | undefined
}

/** Events that were read together from an archive file. */
export interface ArchivePart {
  /** The file, or a folder that can't be read. */
  readonly path: string
  /** The selected events, in the order of the file. */
  readonly rows: readonly JsonObject[]
  /** A reason for each unreadable row, for damage to the file, and for a file or folder that can't be opened. */
  readonly problems: readonly string[]
}

/**
 * Reads the selected events of a source day by day, and continues after unreadable parts. Reports every unreadable row
 * on the selected days, because it might be a selected one. Also yields parts without events.
 */
export async function* readArchive(
  directory: string,
  sourceId: string,
  selection: ArchiveSelection,
): AsyncGenerator<ArchivePart> {
  const folder = archiveFolder(directory, sourceId)
  yield* reportingProblems(folder, readSource(folder, selection))
}

/** Yields the parts. If reading fails, yields a last part with the error as its problem. */
async function* reportingProblems(
  path: string,
  parts: AsyncIterable<ArchivePart>,
): AsyncGenerator<ArchivePart> {
  try {
    yield* parts
  } catch (error) {
    if (!(await isGone(path))) yield { path, rows: [], problems: [messageOf(error)] }
  }
}

async function* readSource(
  folder: string,
  selection: ArchiveSelection,
): AsyncGenerator<ArchivePart> {
  for (const day of await namesIn(folder)) {
    if (!mayHold(day, selection)) continue
    const path = join(folder, day)
    yield* reportingProblems(path, readDay(path, selection))
  }
}

async function* readDay(folder: string, selection: ArchiveSelection): AsyncGenerator<ArchivePart> {
  for (const name of await namesIn(folder)) {
    if (isTemporary(name)) continue
    const path = join(folder, name)
    yield* reportingProblems(path, readFile(path, selection))
  }
}

async function* readFile(path: string, selection: ArchiveSelection): AsyncGenerator<ArchivePart> {
  // A pipe or a device may block when it is opened, or never end.
  if (!(await stat(path)).isFile()) throw new Error('It is not a file')
  for await (const group of readRows(await openInput(path), rowBytesMax)) {
    const rows: JsonObject[] = []
    const problems: string[] = []
    for (const row of group) {
      const reading = readArchivedRow(row)
      if (reading.kind === 'unreadable') problems.push(reading.reason)
      else if (isWanted(reading.row, reading.receivedAtMs, selection)) rows.push(reading.row)
    }
    yield { path, rows, problems }
  }
}

const dayMs = 24 * 60 * 60 * 1_000

function mayHold(
  day: string,
  { sinceMs = -Infinity, untilMs = Infinity }: ArchiveSelection,
): boolean {
  const startMs = parseTimestamp(day)
  return startMs !== undefined && startMs + dayMs > sinceMs && startMs < untilMs
}

function isWanted(row: JsonObject, receivedAtMs: number, selection: ArchiveSelection): boolean {
  const { sinceMs = -Infinity, untilMs = Infinity, types, eventNames } = selection
  const { type, event } = row
  if (receivedAtMs < sinceMs || receivedAtMs >= untilMs) return false
  if (types !== undefined && !types.some((wanted) => wanted === type)) return false
  return eventNames === undefined || (type === 'track' && eventNames.some((name) => name === event))
}
