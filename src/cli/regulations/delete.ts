import type { AnswerRecord } from '../../admin-api/index.ts'
import { effectsOf, plainText, recordLine, type RegulationType } from '../../model/index.ts'
import { systemClock } from '../../runtime/index.ts'
import { sourceError } from '../audiences/refusal.ts'
import { exitCodes, gravest, unlessEnded, type ExitCode } from '../exit-code.ts'
import { countOf } from '../output/numbers.ts'
import { drained, finishWork, type OperationsRun } from '../store-access/operations.ts'
import { regulationText } from './show.ts'
import { noSubjects, readSubjects, type SubjectsSource } from './subjects.ts'

/** The regulation to store for users. `sourceIds` is null for all sources. */
export interface DeleteCommand extends SubjectsSource {
  readonly type: RegulationType
  readonly sourceIds: readonly string[] | null
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
async function store(
  { type, sourceIds, ...source }: DeleteCommand,
  run: OperationsRun,
  ids: string[],
): Promise<true> {
  const { regulations, report, io, json, stdout } = run
  let users = 0
  run.showProgress(() => [countOf(users, 'user')])
  const batches = await readSubjects(source, io, {
    read: (count) => (users = count),
    rejected: (row) => report.rejected(row, row),
  })
  for (const userIds of batches) {
    io.stop.throwIfAborted()
    const id = await regulations.create({ type, userIds, sourceIds })
    if (typeof id === 'object') {
      const { knownIds } = id
      const unknown = sourceIds?.find((sourceId) => !knownIds.includes(sourceId))
      throw sourceError(unknown, knownIds)
    }
    const subjects = userIds.length
    ids.push(id)
    stdout.write(
      json
        ? recordLine({ kind: 'created', id, regulationType: type, subjects })
        : `${plainText(id)}: ${countOf(subjects, 'user')}\n`,
    )
    await drained(run)
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
  const { regulations, stdout, json } = run
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
    await drained(run)
    // An archive file could not be read or written, so it may still contain events of the users.
    if ((archive?.problems.length ?? 0) > 0) code = exitCodes.cannotUse
    if (archivesLeft.length > 0 && !json) {
      run.report.note(`${plainText(id)} is waiting for the services that keep the archives above`)
    }
    if (isHeldUp(found) && !run.io.stop.aborted) {
      run.report.note(
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
