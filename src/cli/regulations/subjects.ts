import type { RejectedRow } from '../../audience/index.ts'
import { readUserIds } from '../../lists/index.ts'
import type { EvrouteError } from '../../model/index.ts'
import { regulationUsersMax } from '../../privacy/index.ts'
import { openInputOf } from '../input.ts'
import type { Io } from '../io.ts'
import { usageError } from '../output/error.ts'
import { formatCount } from '../output/numbers.ts'

/** The users of a regulation, or the file with them. */
export interface SubjectsSource {
  readonly userIds: readonly string[]
  /** The file, `-` for stdin; undefined if flags name the users. */
  readonly file: string | undefined
  readonly idColumns: readonly string[]
}

/** Makes the error for a list without users. */
export function noSubjects(): EvrouteError {
  const hint = 'Pass a row for each user, as CSV with a header, NDJSON or JSON.'
  return usageError('Cannot tell which users are meant: the list is empty', hint)
}

/** Maximum size of the ids in one batch. The admin API accepts requests twice as large. */
const batchBytesMax = 1_024 * 1_024

/** Maximum number of batches in a list: at most a million users and 200 MB of ids. */
const batchesMax = 200

interface SubjectsListener {
  readonly read: (users: number) => void
  readonly rejected: (row: RejectedRow) => void
}

/** Reads the whole list of users, so that an unreadable list changes nothing. Returns a batch for each regulation. */
export async function readSubjects(
  source: SubjectsSource,
  io: Io,
  { read, rejected }: SubjectsListener,
): Promise<readonly (readonly string[])[]> {
  const batches: string[][] = []
  let batch: string[] = []
  let seen = new Set<string>()
  let [bytes, users] = [0, 0]
  for await (const userId of subjects(source, io, rejected)) {
    if (seen.has(userId)) continue
    const more = Buffer.byteLength(userId)
    const isFull = batch.length === regulationUsersMax || bytes + more > batchBytesMax
    if (isFull && batches.length === batchesMax) {
      const usersMax = formatCount(batchesMax * regulationUsersMax)
      throw usageError(
        `Cannot read more than ${usersMax} users, or ${batchesMax} MB of ids, from one list`,
        'Split the list into several files, and run the command for each.',
      )
    }
    if (isFull || users === 0) {
      batches.push((batch = []))
      seen = new Set()
      bytes = 0
    }
    batch.push(userId)
    seen.add(userId)
    bytes += more
    read(++users)
  }
  return batches
}

async function* subjects(
  { userIds, file, idColumns }: SubjectsSource,
  io: Io,
  rejected: (row: RejectedRow) => void,
): AsyncGenerator<string> {
  yield* userIds
  if (file === undefined) return
  for await (const rows of readUserIds(await openInputOf(file, io), idColumns)) {
    for (const row of rows) {
      if (row.kind === 'bad') rejected(row)
      else yield* row.userIds
    }
  }
}
