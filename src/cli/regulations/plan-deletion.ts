import { plainText, recordLine } from '../../model/index.ts'
import { effectsOf } from '../../privacy/index.ts'
import { lineLog } from '../../runtime/index.ts'
import { sourceError } from '../audiences/refusal.ts'
import { codeOfEnd } from '../code-of-end.ts'
import { readForCommand } from '../configuration/read-for-command.ts'
import { exitCodes, gravest, type ExitCode } from '../exit-code.ts'
import { writeData, type Io } from '../io.ts'
import type { OperationsPlace } from '../operations/operations-flags.ts'
import type { DestinationSources } from '../operations/read-records.ts'
import { remoteDestinations } from '../operations/remote-operations.ts'
import { ServiceApi } from '../operations/service-api.ts'
import { formatCount } from '../output/numbers.ts'
import type { DeleteCommand } from './delete.ts'
import { noSubjects, subjectBatches } from './subjects.ts'

/** Where a dry run looks, and how it tells. */
export interface DeletionPlanParts {
  /** Where the work would be done. */
  readonly place: OperationsPlace
  /** Streams, environment and the signal to end early. */
  readonly io: Io
  /** NDJSON records instead of text. */
  readonly json: boolean
}

/** What there is: sources that are known, and where their events go. */
interface Surroundings {
  /** Undefined where only the destinations of a service are known. */
  readonly sourceIds: readonly string[] | undefined
  readonly destinations: readonly DestinationSources[]
}

/**
 * Tells how many users a deletion would be about, and how many notifications it would send. Nothing is
 * stored, and no store is opened.
 *
 * @throws EvrouteError where the users cannot be read, there are none, or a source is not there
 */
export async function planDeletion(
  command: DeleteCommand,
  { place, io, json }: DeletionPlanParts,
): Promise<ExitCode> {
  const surroundings = await lookAround(place, io, json)
  const streams = effectsOf(command.type).notifies ? streamCount(command, surroundings) : 0
  let [subjects, regulations, rejected] = [0, 0, 0]
  const batches = subjectBatches(command, io, ({ line, code, message }) => {
    rejected += 1
    const text = `line ${line}: ${plainText(message)} (${code})\n`
    if (json) io.stdout.write(recordLine({ kind: 'rejected', line, code, message }))
    else io.stderr.write(text)
  })
  for await (const batch of batches) {
    subjects += batch.length
    regulations += 1
  }
  if (subjects === 0 && rejected === 0) throw noSubjects()
  const plan = { regulationType: command.type, subjects, regulations }
  const notifications = subjects * streams
  const counts = [
    `${formatCount(subjects)} ${subjects === 1 ? 'user' : 'users'}`,
    `${formatCount(regulations)} ${regulations === 1 ? 'regulation' : 'regulations'}`,
    `${formatCount(notifications)} ${notifications === 1 ? 'notification' : 'notifications'}`,
  ]
  const text = `${command.type} would make ${counts.join(', ')}; nothing was stored\n`
  await writeData(io, json ? recordLine({ kind: 'plan', ...plan, notifications }) : text)
  return gravest([rejected > 0 ? exitCodes.badInput : exitCodes.ok, codeOfEnd(io)])
}

async function lookAround(place: OperationsPlace, io: Io, json: boolean): Promise<Surroundings> {
  if (place.kind === 'service') {
    const destinations = await remoteDestinations(new ServiceApi(place, io.stop))
    return { sourceIds: undefined, destinations }
  }
  const log = lineLog((line) => void io.stderr.write(line))
  const { configuration } = await readForCommand({ path: place.path, json, log }, io)
  const { sources, destinations } = configuration
  return { sourceIds: sources.map(({ id }) => id), destinations }
}

/** To how many destinations of how many sources each user's notification goes. */
function streamCount(
  { sourceIds }: DeleteCommand,
  { destinations, ...known }: Surroundings,
): number {
  const unknown = sourceIds?.find((id) => known.sourceIds?.includes(id) === false)
  if (unknown !== undefined) throw sourceError(unknown, known.sourceIds ?? [])
  const affected = sourceIds === null ? undefined : new Set(sourceIds)
  return destinations
    .filter(({ enabled }) => enabled)
    .flatMap((destination) => destination.sourceIds)
    .filter((id) => affected?.has(id) ?? true).length
}
