import { effectsOf, plainText, recordLine, type RegulationType } from '../../model/index.ts'
import type { RegulationFields, WholeRegulationFields } from '../../privacy/index.ts'
import { systemClock } from '../../runtime/index.ts'
import { sourceError } from '../audiences/refusal.ts'
import { codeOfEnd, exitCodes, gravest, unlessEnded, type ExitCode } from '../exit-code.ts'
import { countOf } from '../output/numbers.ts'
import { drained, finishWork, type OperationsRun } from '../store-access/operations.ts'
import { regulationText } from './show.ts'
import { noSubjects, readSubjects, type SubjectsSource } from './subjects.ts'

/** The users, and the regulation to create for them. */
export interface DeleteCommand extends SubjectsSource {
  /** The type of the regulation. */
  readonly type: RegulationType
  /** The affected sources; null for all. */
  readonly sourceIds: readonly string[] | null
}

interface Stored {
  readonly ids: readonly string[]
  readonly rejected: number
}

/**
 * Stores one or more regulations about users and prints their ids. If this process carries them out, waits
 * for that and reports the result. Nothing is stored before the whole list was read.
 *
 * @throws EvrouteError if the users cannot be read, the list is empty, or a source does not exist
 */
export async function deleteUsers(command: DeleteCommand, run: OperationsRun): Promise<ExitCode> {
  const ids: string[] = []
  let rejected = 0
  const stored = await unlessEnded(
    store(command, run, {
      created: (id) => ids.push(id),
      rejected: () => (rejected += 1),
    }),
    run.io,
  )
  if (stored === undefined) noteInterruption(ids.length, command, run)
  else if (ids.length === 0 && rejected === 0) throw noSubjects()
  if (command.type === 'UNSUPPRESS' && command.sourceIds !== null && !run.json) {
    run.report.note(
      'A user who is suppressed for all sources stays suppressed; leave out --source to lift that',
    )
  }
  return finish({ ids, rejected }, run)
}

interface StoringListener {
  readonly created: (id: string) => void
  readonly rejected: () => void
}

/** @returns true when all regulations are stored */
async function store(
  { type, sourceIds, ...source }: DeleteCommand,
  run: OperationsRun,
  listener: StoringListener,
): Promise<true> {
  const { regulations, report, io, json, stdout } = run
  let users = 0
  run.showProgress(() => [countOf(users, 'user')])
  const batches = await readSubjects(source, io, {
    read: (count) => (users = count),
    rejected: ({ line, code, message }) => {
      listener.rejected()
      report.rejected({ file: undefined, line }, { code, message })
    },
  })
  for (const userIds of batches) {
    const outcome = await regulations.create({ type, userIds, sourceIds })
    if (outcome.kind === 'unknown_source') throw unknownSource(sourceIds, outcome.knownIds)
    const { id } = outcome
    const subjects = userIds.length
    listener.created(id)
    stdout.write(
      json
        ? recordLine({ kind: 'created', id, regulationType: type, subjects })
        : `${plainText(id)}: ${countOf(subjects, 'user')}\n`,
    )
    await drained(run)
    io.stop.throwIfAborted()
  }
  return true
}

async function finish({ ids, rejected }: Stored, run: OperationsRun): Promise<ExitCode> {
  const { offline, report, json } = run
  const code = rejected > 0 ? exitCodes.badInput : exitCodes.ok
  if (ids.length === 0) {
    if (code !== exitCodes.ok) report.note('Nothing was stored: no row names a user')
    return gravest([code, codeOfEnd(run.io)])
  }
  if (offline === undefined) {
    report.close()
    const [first = ''] = ids
    const look = `\`evroute regulations show ${plainText(first)}\` with the same flags tells how far it is.`
    if (!json) report.note(`The service erases and notifies; ${look}`)
    return gravest([code, codeOfEnd(run.io)])
  }
  return gravest([code, await finishWork(run, () => tellAll(ids, run))])
}

/** Reports the results, without the users' ids. */
async function tellAll(ids: readonly string[], run: OperationsRun): Promise<ExitCode> {
  const { regulations, stdout, json, style, columns } = run
  let code: ExitCode = exitCodes.ok
  for (const id of ids) {
    const found = await regulations.find(id)
    if (found === undefined) continue
    const { archive, archivesLeft, subjectIds } = found
    const nowMs = systemClock.nowMs()
    const shown = { fields: found, users: subjectIds.length, style, columns, nowMs }
    stdout.write(json ? recordLine(withoutUsers(found)) : `\n${regulationText(shown)}`)
    await drained(run)
    // An archive file could not be read or written: it may still contain events of the users.
    if ((archive?.problems.length ?? 0) > 0) code = exitCodes.cannotUse
    if (archivesLeft.length > 0 && !json) {
      run.report.note(`${plainText(id)} waits for the services that keep these archives`)
    }
    if (isHeldUp(found) && !run.io.stop.aborted) {
      run.report.note(
        `${plainText(id)} is not finished: \`evroute serve\` or the next such command goes on`,
      )
      code = exitCodes.cannotUse
    }
  }
  return code
}

/** Whether work is left that this process should have done: the store's file could not be rewritten. */
function isHeldUp({ finishedAt, archivesLeft, streamStatus }: RegulationFields): boolean {
  const streams = streamStatus.flatMap(({ destinationStatus }) => destinationStatus)
  const isNotified = streams.every(({ pending }) => pending === 0)
  return finishedAt === null && archivesLeft.length === 0 && isNotified
}

function withoutUsers(record: WholeRegulationFields): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(record).map(([name, value]) =>
      name === 'subjectIds' ? ['subjects', record.subjectIds.length] : [name, value],
    ),
  )
}

function noteInterruption(
  stored: number,
  { type }: DeleteCommand,
  { io, report }: OperationsRun,
): void {
  if (codeOfEnd(io) !== exitCodes.interrupted) return
  const regulations = countOf(stored, 'regulation is', 'regulations are')
  const again =
    stored > 0 && effectsOf(type).notifies
      ? '; running it again notifies the stored users twice'
      : ''
  report.note(`Interrupted: ${regulations} stored, and not all users are in them${again}`)
}

function unknownSource(sourceIds: readonly string[] | null, knownIds: readonly string[]): Error {
  return sourceError(
    sourceIds?.find((id) => !knownIds.includes(id)),
    knownIds,
  )
}
