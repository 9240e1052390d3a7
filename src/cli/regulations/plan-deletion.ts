import { effectsOf, recordLine } from '../../model/index.ts'
import { lineLog, stopwatch } from '../../runtime/index.ts'
import { sourceError } from '../audiences/refusal.ts'
import { readForCommand } from '../configuration/read-for-command.ts'
import { codeOfEnd, exitCodes, gravest, type ExitCode } from '../exit-code.ts'
import { defaultConfigurationPath, type AccessValues } from '../flags.ts'
import { writeData, type Io } from '../io.ts'
import { countOf } from '../output/numbers.ts'
import { Report } from '../sending/report.ts'
import { namedService } from '../store-access/readers.ts'
import type { DeleteCommand } from './delete.ts'
import { noSubjects, readSubjects } from './subjects.ts'

interface Configured {
  readonly sourceIds: readonly string[]
  readonly destinations: readonly {
    readonly enabled: boolean
    readonly sourceIds: readonly string[]
  }[]
}

/** Reports how many users a deletion would affect, and how many notifications it would send. Opens no store. */
export async function planDeletion(
  command: DeleteCommand,
  values: AccessValues,
  io: Io,
): Promise<ExitCode> {
  const { json, color } = values
  const configured = await readConfigured(values, io)
  const { sourceIds: knownIds } = configured
  const unknown = command.sourceIds?.find((id) => !knownIds.includes(id))
  if (unknown !== undefined) throw sourceError(unknown, knownIds)
  const streams = effectsOf(command.type).notifies ? streamCount(command, configured) : 0
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
  const plan = { regulationType: command.type, subjects, regulations }
  const notifications = subjects * streams
  const made = `${countOf(regulations, 'regulation')} for ${countOf(subjects, 'user')}`
  const sent = countOf(notifications, 'notification')
  const text = `${command.type} would make ${made}, and send ${sent}; nothing was stored\n`
  await writeData(io, json ? recordLine({ kind: 'plan', ...plan, notifications }) : text)
  return gravest([isRejected ? exitCodes.badInput : exitCodes.ok, codeOfEnd(io)])
}

async function readConfigured(values: AccessValues, io: Io): Promise<Configured> {
  const api = await namedService(values, io)
  if (api !== undefined) {
    const [{ sources }, { destinations }] = await Promise.all([
      api.read('sources', 'v1/sources'),
      api.read('destinations', 'v1/destinations'),
    ])
    return {
      sourceIds: sources.map(({ id }) => id),
      destinations: destinations.map(({ enabled, sources }) => ({ enabled, sourceIds: sources })),
    }
  }
  const log = lineLog((line) => void io.stderr.write(line))
  const { config: path = defaultConfigurationPath, json } = values
  const { configuration } = await readForCommand({ path, json, log }, io)
  const { sources, destinations } = configuration
  return { sourceIds: sources.map(({ id }) => id), destinations }
}

/** Returns the number of notifications per user: one for each pair of source and destination. */
function streamCount({ sourceIds }: DeleteCommand, { destinations }: Configured): number {
  const affected = sourceIds === null ? undefined : new Set(sourceIds)
  return destinations
    .filter(({ enabled }) => enabled)
    .flatMap((destination) => destination.sourceIds)
    .filter((id) => affected?.has(id) ?? true).length
}
