import type { AnswerRecord } from '../../admin-api/index.ts'
import type { RejectedRow } from '../../audience/index.ts'
import { readUserIds } from '../../lists/index.ts'
import {
  effectsOf,
  plainText,
  recordLine,
  type EvrouteError,
  type RegulationType,
} from '../../model/index.ts'
import { regulationUsersMax } from '../../privacy/index.ts'
import { lineLog, stopwatch, systemClock } from '../../runtime/index.ts'
import { refusalError } from '../audiences/refusal.ts'
import { readForCommand } from '../configuration/read-for-command.ts'
import { codeOfEnd, exitCodes, gravest, unlessEnded, type ExitCode } from '../exit-code.ts'
import { defaultConfigurationPath, type AccessValues } from '../flags.ts'
import { aboutFile, openInputOf } from '../input.ts'
import { writeData, type Io } from '../io.ts'
import { usageError } from '../output/error.ts'
import { countOf, formatCount } from '../output/numbers.ts'
import { Report } from '../sending/report.ts'
import { finishWork, type OperationsRun } from '../store-access/operations.ts'
import { namedService } from '../store-access/readers.ts'
import { regulationText } from './show.ts'

/** The users to delete or to accept again, and how. */
export interface DeleteCommand {
  readonly type: RegulationType
  /** The sources whose events it concerns; null for all. */
  readonly sourceIds: readonly string[] | null
  readonly userIds: readonly string[]
  /** A file with users, `-` for stdin; undefined if flags name the users. */
  readonly file: string | undefined
  readonly idColumns: readonly string[]
}

/** Stores regulations and prints their ids. If this process does the work, also prints the results. */
export async function deleteUsers(command: DeleteCommand, run: OperationsRun): Promise<ExitCode> {
  const ids: string[] = []
  const isWhole = await unlessEnded(store(command, run, ids), run.io)
  const codes: ExitCode[] = []
  if (isWhole === undefined) codes.push(interruption(ids.length, command, run))
  else if (ids.length === 0 && run.report.rejectedRows === 0) throw noSubjects()
  if (command.type === 'UNSUPPRESS' && command.sourceIds !== null && !run.json) {
    run.report.note(
      'A user who is suppressed for all sources stays suppressed. To lift that, omit --source',
    )
  }
  return gravest([...codes, await finish(ids, run)])
}

/** Reads the whole list, then stores a regulation for each batch. Adds the new ids to `ids`. */
async function store(command: DeleteCommand, run: OperationsRun, ids: string[]): Promise<true> {
  const { type, sourceIds } = command
  const { regulations, report, io, json, stdout } = run
  let users = 0
  run.showProgress(() => [countOf(users, 'user')])
  const batches = await readSubjects(command, io, {
    read: (count) => (users = count),
    rejected: (row) => report.rejected(row, row),
  })
  for (const userIds of batches) {
    io.stop.throwIfAborted()
    const id = await regulations.create({ type, userIds, sourceIds })
    if (typeof id === 'object') {
      const { knownIds } = id
      const unknown = sourceIds?.find((sourceId) => !knownIds.includes(sourceId))
      throw refusalError(id, { source: unknown })
    }
    const subjects = userIds.length
    ids.push(id)
    stdout.write(
      json
        ? recordLine({ kind: 'created', id, regulationType: type, subjects })
        : `${plainText(id)}: ${countOf(subjects, 'user')}\n`,
    )
    await stdout.ready()
  }
  return true
}

async function finish(ids: readonly string[], run: OperationsRun): Promise<ExitCode> {
  const { offline, report, json } = run
  const code = report.rejectedRows > 0 ? exitCodes.badInput : exitCodes.ok
  if (ids.length === 0) {
    if (code !== exitCodes.ok) report.note('Nothing was stored: no row names a user')
    return code
  }
  if (offline === undefined) {
    report.close()
    const show = `\`evroute regulations show ${plainText(ids[0] ?? '')}\``
    if (!json) {
      report.note(
        `The service does the rest. To see its progress, run ${show} with the same flags.`,
      )
    }
    return code
  }
  return gravest([code, await finishWork(run, () => tellAll(ids, run))])
}

/** Prints the results of regulations, without the ids of the users. */
async function tellAll(ids: readonly string[], run: OperationsRun): Promise<ExitCode> {
  const { regulations, report, json, stdout } = run
  let code: ExitCode = exitCodes.ok
  for (const id of ids) {
    const found = await regulations.find(id)
    if (found === undefined) continue
    const { archive, archivesLeft, subjectIds, ...fields } = found
    const subjects = subjectIds.length
    const view = { ...run, nowMs: systemClock.nowMs() }
    stdout.write(
      json
        ? recordLine({ ...fields, archive, archivesLeft, subjects })
        : `\n${regulationText(found, subjects, view)}`,
    )
    await stdout.ready()
    // An archive file could not be read or written, so it may still contain events of the users.
    if ((archive?.problems.length ?? 0) > 0) code = exitCodes.cannotUse
    if (archivesLeft.length > 0 && !json) {
      report.note(`${plainText(id)} is waiting for the services that keep the archives above`)
    }
    if (isHeldUp(found) && !run.io.stop.aborted) {
      report.note(
        `${plainText(id)} is not finished. To continue it, run \`evroute serve\` or this command again`,
      )
      code = exitCodes.cannotUse
    }
  }
  return code
}

/** Whether a regulation is unfinished only because its users are still being erased from the store. */
function isHeldUp({ finishedAt, archivesLeft, streamStatus }: AnswerRecord<'regulation'>): boolean {
  const streams = streamStatus.flatMap(({ destinationStatus }) => destinationStatus)
  const isNotified = streams.every(({ pending }) => pending === 0)
  return finishedAt === null && archivesLeft.length === 0 && isNotified
}

function interruption(
  stored: number,
  { type }: DeleteCommand,
  { report }: OperationsRun,
): ExitCode {
  const regulations = countOf(stored, 'regulation was', 'regulations were')
  const again =
    stored > 0 && effectsOf(type).notifies
      ? '. Running the command again notifies destinations twice about the users in those regulations'
      : ''
  report.note(`Interrupted: ${regulations} stored; some users are not covered${again}`)
  return exitCodes.interrupted
}

/** Reports how many users a deletion would affect, and how many notifications it would send. Opens no store. */
export async function planDeletion(
  command: DeleteCommand,
  values: AccessValues,
  io: Io,
): Promise<ExitCode> {
  const { json, color } = values
  const { type, sourceIds } = command
  const { knownIds, notifiedIds } = await readSources(values, io)
  const unknown = sourceIds?.find((id) => !knownIds.includes(id))
  if (unknown !== undefined) {
    throw refusalError({ kind: 'unknown_source', knownIds }, { source: unknown })
  }
  // Each user causes one notification for each pair of source and destination.
  const affected = notifiedIds.filter((id) => sourceIds?.includes(id) ?? true)
  const streams = effectsOf(type).notifies ? affected.length : 0
  let subjects = 0
  const look = { json, color, quiet: false, verbose: false, retryForMs: 0 }
  const report = new Report(io, look, stopwatch())
  const { length: regulations } = await readSubjects(command, io, {
    read: (users) => (subjects = users),
    rejected: (row) => report.rejected(row, row),
  })
  report.close()
  const isRejected = report.rejectedRows > 0
  if (subjects === 0 && !isRejected) throw noSubjects()
  const plan = { regulationType: type, subjects, regulations }
  const notifications = subjects * streams
  const made = `${countOf(regulations, 'regulation')} for ${countOf(subjects, 'user')}`
  const sent = countOf(notifications, 'notification')
  const text = `${type} would make ${made}, and send ${sent}; nothing was stored\n`
  await writeData(io, json ? recordLine({ kind: 'plan', ...plan, notifications }) : text)
  return gravest([isRejected ? exitCodes.badInput : exitCodes.ok, codeOfEnd(io)])
}

/** Reads the ids of all sources, and for each enabled destination the ids of its sources. */
async function readSources(values: AccessValues, io: Io) {
  const api = await namedService(values, io)
  if (api !== undefined) {
    const [{ sources }, { destinations }] = await Promise.all([
      api.read('sources', 'v1/sources'),
      api.read('destinations', 'v1/destinations'),
    ])
    const enabled = destinations.filter((destination) => destination.enabled)
    return { knownIds: idsOf(sources), notifiedIds: enabled.flatMap((each) => each.sources) }
  }
  const log = lineLog((line) => void io.stderr.write(line))
  const { config: path = defaultConfigurationPath, json } = values
  const { configuration } = await readForCommand({ path, json, log }, io)
  const enabled = configuration.destinations.filter((destination) => destination.enabled)
  const notifiedIds = enabled.flatMap(({ sourceIds }) => sourceIds)
  return { knownIds: idsOf(configuration.sources), notifiedIds }
}

function idsOf(sources: readonly { readonly id: string }[]): readonly string[] {
  return sources.map(({ id }) => id)
}

/** Makes the error for a list without users. */
function noSubjects(): EvrouteError {
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
  command: DeleteCommand,
  io: Io,
  { read, rejected }: SubjectsListener,
): Promise<readonly (readonly string[])[]> {
  const batches: string[][] = []
  let batch: string[] = []
  let seen = new Set<string>()
  let [bytes, users] = [0, 0]
  for await (const userId of subjects(command, io, rejected)) {
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
  { userIds, file, idColumns }: DeleteCommand,
  io: Io,
  rejected: (row: RejectedRow) => void,
): AsyncGenerator<string> {
  yield* userIds
  if (file === undefined) return
  for await (const rows of aboutFile(file, readUserIds(await openInputOf(file, io), idColumns))) {
    for (const row of rows) {
      if (row.kind === 'bad') rejected(row)
      else yield* row.userIds
    }
  }
}
