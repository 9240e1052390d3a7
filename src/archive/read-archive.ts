import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { openInput, readRows } from '../importer/index.ts'
import { isJsonObject, parseTimestamp, systemCode, type JsonObject } from '../model/index.ts'
import { archiveFolder } from './archive.ts'

/** Which events of an archive are wanted: those that meet every condition that is there. */
export interface ArchiveSelection {
  /** Accepted at this moment or after, in milliseconds since 1970. */
  readonly sinceMs?: number | undefined
  /** Accepted before this moment. */
  readonly untilMs?: number | undefined
  /** Of one of these types. */
  readonly types?: readonly string[] | undefined
  /** Track calls with one of these event names. */
  readonly eventNames?: readonly string[] | undefined
}

/** Reads the events of a source back, day by day, in groups. Bad rows are passed over. */
export async function* readArchive(
  directory: string,
  sourceId: string,
  selection: ArchiveSelection,
): AsyncGenerator<readonly JsonObject[]> {
  const folder = archiveFolder(directory, sourceId)
  for (const day of await namesIn(folder)) {
    if (!mayHold(day, selection)) continue
    for (const name of await namesIn(join(folder, day))) {
      for await (const rows of readRows(await openInput(join(folder, day, name), noInput()))) {
        const wanted = rows.flatMap((row) =>
          row.kind === 'row' && isWanted(row.value, selection) ? [row.value] : [],
        )
        if (wanted.length > 0) yield wanted
      }
    }
  }
}

/** What a folder holds, in order; nothing when it does not exist. */
async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    return (await readdir(folder)).toSorted()
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return []
    throw error
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

function isWanted(row: JsonObject, selection: ArchiveSelection): boolean {
  const { sinceMs = -Infinity, untilMs = Infinity, types, eventNames } = selection
  const { archived, type, event } = row
  const receivedAtMs = isJsonObject(archived) ? parseTimestamp(archived['receivedAt']) : undefined
  if (receivedAtMs === undefined || receivedAtMs < sinceMs || receivedAtMs >= untilMs) return false
  if (types !== undefined && !types.some((wanted) => wanted === type)) return false
  return eventNames === undefined || (type === 'track' && eventNames.some((name) => name === event))
}

/** Files are all there is to read. */
async function* noInput(): AsyncGenerator<Uint8Array> {
  yield* await Promise.resolve([])
}
