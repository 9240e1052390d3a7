import { resolve } from 'node:path'
import type { AudienceOperations } from '../../admin-api/index.ts'
import { EvrouteError, imbalances, plainText, type DeliveryLedger } from '../../model/index.ts'
import {
  createRuntime,
  stoppable,
  stopwatch,
  type Observer,
  type Runtime,
} from '../../runtime/index.ts'
import { AudiencePreviews, OfflineService, type Configuration } from '../../service/index.ts'
import { storeName } from '../../store/index.ts'
import { readForCommand } from '../configuration/read-for-command.ts'
import { exitCodeOf, exitCodes, gravest, type ExitCode } from '../exit-code.ts'
import { defaultConfigurationPath, type AccessValues } from '../flags.ts'
import type { DataWriter, Io } from '../io.ts'
import { countOf, formatCount } from '../output/numbers.ts'
import { commandOutput, type CommandOutput } from '../output/style.ts'
import { stopGraceMs } from '../sending/outlet.ts'
import { Report } from '../sending/report.ts'

import { findTarget, namedService, regulationRecords, withStore } from './readers.ts'
import { askConfiguredService, inUse, remoteOperations, type ChangedRegulations } from './remote.ts'
import type { ServiceApi } from './service-api.ts'

interface OfflineWork {
  readonly service: Pick<OfflineService, 'idle' | 'ledger' | 'stop'>
  readonly storeUrl: string
}

/** Passed to commands that change audiences or regulations, or preview a change. */
export interface OperationsRun extends CommandOutput, Opened {
  readonly isDryRun: boolean
  readonly report: Report
  readonly stdout: DataWriter
  /** Sets the parts of the progress line that stand left of the counts of deliveries. */
  readonly showProgress: (parts: () => readonly string[]) => void
  readonly elapsedMs: () => number
}

interface Opened {
  readonly audiences: AudienceOperations
  readonly regulations: ChangedRegulations
  /** The service in this process; undefined if a running service delivers, or nothing is delivered. */
  readonly offline: OfflineWork | undefined
}

const retryNote =
  'A failed webhook is retried until its retry window ends. Ctrl-C leaves pending deliveries in the store'
const farFutureMs = Number.MAX_SAFE_INTEGER

interface FoundStore {
  readonly io: Io
  readonly runtime: Runtime
  readonly configuration: Configuration
  readonly storeUrl: string
}

type Work = (opened: Opened) => Promise<ExitCode>

/**
 * Runs a command on the store or service that the options name. If the store is in use or in memory, runs it on the
 * configured service. A dry run only reads the store, so another process may be delivering from it.
 */
export async function runOperations(
  values: AccessValues & { readonly isDryRun?: boolean },
  io: Io,
  work: (run: OperationsRun) => Promise<ExitCode>,
): Promise<ExitCode> {
  const { isDryRun = false } = values
  const api = await namedService(values, io)
  const output = commandOutput(values, io)
  const { json, color } = output
  const elapsedMs = stopwatch()
  const look = { json, color, quiet: false, verbose: false, retryForMs: farFutureMs, retryNote }
  const report = new Report(io, look, elapsedMs)
  const { stdout } = report
  const watch = watchDeliveries(json ? undefined : report)
  let parts = (): readonly string[] => []
  const showProgress: OperationsRun['showProgress'] = (shown) => (parts = shown)
  const begin: Work = (opened) => {
    report.begin(() => [...parts(), ...watch.progress()].join(' · '))
    return work({ ...opened, ...output, isDryRun, stdout, report, showProgress, elapsedMs })
  }
  try {
    if (api !== undefined) return await begin(remote(api))
    const { config: path = defaultConfigurationPath } = values
    const { configuration } = await readForCommand({ path, json, log: report.log }, io)
    const target = await findTarget(values, io, configuration)
    if (target.kind === 'service') return await begin(remote(target.api))
    const runtime = createRuntime({ log: report.log, observer: watch })
    const open = isDryRun ? withPreviews : withOperations
    return await open({ io, runtime, configuration, storeUrl: target.url }, begin)
  } finally {
    report.close()
  }
}

async function withOperations(found: FoundStore, work: Work): Promise<ExitCode> {
  const service = await openOffline(found)
  if (!(service instanceof OfflineService)) return work(remote(service))
  const { audiences, regulations } = service
  try {
    return await work({
      audiences,
      regulations: {
        ...regulationRecords(regulations),
        create: async (request) => {
          const outcome = await regulations.create(request)
          return outcome.kind === 'created' ? outcome.regulation.id : outcome
        },
      },
      offline: { service, storeUrl: found.storeUrl },
    })
  } finally {
    await service.close()
  }
}

function withPreviews(found: FoundStore, work: Work): Promise<ExitCode> {
  const { configuration, storeUrl, runtime, io } = found
  const opening = { write: false, reveal: false, missing: () => undefined }
  return withStore(storeUrl, opening, ({ audiences: store, regulations }) => {
    const preview = { store, configuration: () => configuration, runtime, ending: io.stop }
    const create = (): never => {
      throw new Error('A dry run stores no regulation')
    }
    return work({
      audiences: new AudiencePreviews(preview),
      regulations: { ...regulations, create },
      offline: undefined,
    })
  })
}

async function openOffline(found: FoundStore): Promise<OfflineService | ServiceApi> {
  const { configuration, runtime, storeUrl, io } = found
  try {
    return await OfflineService.open({ configuration, runtime, storeUrl })
  } catch (error) {
    const isInUse = error instanceof EvrouteError && error.code === 'store_in_use'
    // Ask the configured service only about the configured store: it uses no other.
    if (!isInUse || !isStoreOf(configuration, storeUrl)) throw error
    return askConfiguredService(configuration, inUse(storeUrl), io.stop)
  }
}

/** Whether a URL names the configured store. Resolves its path, because paths in a configuration are absolute. */
function isStoreOf({ store }: Configuration, url: string): boolean {
  const fileOf = (text: string): string => resolve(text.replace(/^sqlite:/, ''))
  return fileOf(store) === fileOf(url)
}

function remote(api: ServiceApi): Opened {
  return { ...remoteOperations(api), offline: undefined }
}

/** Counts settled deliveries, for the progress line. Passes everything on to `next`. */
function watchDeliveries(next: Observer | undefined): Observer & {
  readonly progress: () => readonly string[]
} {
  const counts = { delivered: 0, 'not delivered': 0 }
  return {
    request: (record, nextAtMs) => next?.request(record, nextAtMs),
    settled: (delivery) => {
      counts[delivery.state === 'delivered' ? 'delivered' : 'not delivered']++
      next?.settled(delivery)
    },
    endpoint: (change) => next?.endpoint(change),
    progress: () =>
      Object.entries(counts)
        .filter(([, count]) => count > 0)
        .map(([name, count]) => `${formatCount(count)} ${name}`),
  }
}

/** Delivers and erases all that it can right away, calls `tellMore`, then prints the summary. */
export async function finishWork(
  run: OperationsRun,
  tellMore: () => Promise<ExitCode> = () => Promise.resolve(exitCodes.ok),
): Promise<ExitCode> {
  const { offline, io, report, json, elapsedMs } = run
  if (offline === undefined) {
    report.close()
    if (!json && !io.stop.aborted) report.note('The service delivers the changes.')
    return exitCodes.ok
  }
  const codes = [...(await deliver(offline, run)), await tellMore()]
  const ledger = await offline.service.ledger()
  const { accepted, ...others } = ledger
  const counted = { read: accepted, accepted, rejected: 0, ...others }
  // A summary record always has `read` and `rejected`, even here, where evroute makes the calls.
  report.summary(json ? counted : ledger, elapsedMs())
  for (const { equation } of imbalances(counted)) {
    report.note(`The counts do not balance: ${equation}. This is a bug in evroute`)
    codes.push(exitCodes.internal)
  }
  return gravest([...codes, verdict(ledger, offline, run)])
}

/** Waits for the work. Returns an exit code only after an error or an interruption. */
async function deliver(
  { service }: OfflineWork,
  { io, report }: OperationsRun,
): Promise<readonly ExitCode[]> {
  try {
    if (!io.stop.aborted) await stoppable(service.idle(), io.stop)
    if (!io.stop.aborted) return []
    await service.stop(stopGraceMs)
    return [exitCodes.interrupted]
  } catch (error) {
    report.failure(error)
    return [exitCodeOf(error)]
  }
}

function verdict(
  { pending, deliveries, failed, expired }: DeliveryLedger,
  { storeUrl }: OfflineWork,
  { io, report }: OperationsRun,
): ExitCode {
  if (pending > 0) {
    const open = `${formatCount(pending)} of ${countOf(deliveries, 'delivery', 'deliveries')}`
    const what = io.stop.aborted ? `Interrupted: ${open} pending` : `Still pending: ${open}`
    report.note(
      `${what}, kept in ${plainText(storeName(storeUrl))}. To continue, run \`evroute serve\`, or another ` +
        '`evroute audience` or `evroute delete` command on this store',
    )
  }
  return pending + failed + expired > 0 ? exitCodes.deliveryFailed : exitCodes.ok
}
