import { readUserIds } from '../../lists/index.ts'
import type { EvrouteError } from '../../model/index.ts'
import { regulationLimits } from '../../privacy/index.ts'
import { openListInput } from '../input.ts'
import type { Io } from '../io.ts'
import { usageError } from '../output/error.ts'
import { formatCount } from '../output/numbers.ts'

/** Where the users of a regulation come from. */
export interface SubjectsSource {
  readonly userIds: readonly string[]
  /** A file with users, `-` for stdin; undefined if flags name them. */
  readonly file: string | undefined
  readonly idColumns: readonly string[]
}

/** A row without a user id. */
export interface RejectedSubject {
  readonly line: number
  readonly code: string
  readonly message: string
}

/** Makes the error for a list without users. */
export function noSubjects(): EvrouteError {
  const hint = 'Pass a row for each user, as CSV with a header, NDJSON or JSON.'
  return usageError('Cannot tell which users are meant: the list is empty', hint)
}

/** Maximum size of the ids in one regulation, in bytes. The API accepts requests twice as large. */
const batchBytesMax = 1_024 * 1_024

/** Maximum number of batches in a list: a million users, or 200 MB of ids. */
const batchesMax = 200

/** Callbacks for the rows of a list while it is read. */
export interface SubjectsListener {
  /** Called with the number of users so far. */
  readonly read: (users: number) => void
  /** Called with a row that has no user id. */
  readonly rejected: (row: RejectedSubject) => void
}

/**
 * Reads users in batches, one batch per regulation. Duplicates within a batch are dropped. Returns only after the
 * whole list was read, so that an unreadable list changes nothing.
 */
export async function readSubjects(
  source: SubjectsSource,
  io: Io,
  { read, rejected }: SubjectsListener,
): Promise<readonly (readonly string[])[]> {
  const batches: (readonly string[])[] = []
  let users = 0
  for await (const batch of subjectBatches(source, io, rejected)) {
    if (batches.length === batchesMax) throw tooManySubjects()
    batches.push(batch)
    users += batch.length
    read(users)
  }
  return batches
}

function tooManySubjects(): EvrouteError {
  const usersMax = batchesMax * regulationLimits.usersMax
  return usageError(
    `Cannot read more than ${formatCount(usersMax)} users, or ${batchesMax} MB of ids, from one list`,
    'Split the list into several files, and run the command for each.',
  )
}

async function* subjectBatches(
  source: SubjectsSource,
  io: Io,
  rejected: (row: RejectedSubject) => void,
): AsyncGenerator<readonly string[]> {
  let batch = new Set<string>()
  let bytes = 0
  for await (const userId of subjects(source, io, rejected)) {
    if (batch.has(userId)) continue
    const more = Buffer.byteLength(userId)
    if (batch.size === regulationLimits.usersMax || bytes + more > batchBytesMax) {
      yield [...batch]
      batch = new Set()
      bytes = 0
    }
    batch.add(userId)
    bytes += more
  }
  if (batch.size > 0) yield [...batch]
}

async function* subjects(
  { userIds, file, idColumns }: SubjectsSource,
  io: Io,
  rejected: (row: RejectedSubject) => void,
): AsyncGenerator<string> {
  yield* userIds
  if (file === undefined) return
  for await (const rows of readUserIds(await openListInput(file, io), idColumns)) {
    for (const row of rows) {
      if (row.kind === 'bad') rejected(row)
      else yield* row.userIds
    }
  }
}
