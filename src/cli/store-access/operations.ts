import { resolve } from 'node:path'
import type { AudienceOperations } from '../../admin-api/index.ts'
import {
  EvrouteError,
  imbalances,
  plainText,
  type DeliveryLedger,
  type EndpointChange,
  type RequestRecord,
  type SettledDelivery,
} from '../../model/index.ts'
import { createRuntime, stopwatch, type Observer, type Runtime } from '../../runtime/index.ts'
import { AudiencePreviews, OfflineService, type Configuration } from '../../service/index.ts'
import { storeName } from '../../store/index.ts'
import { readForCommand } from '../configuration/read-for-command.ts'
import { codeOfEnd, exitCodeOf, exitCodes, gravest, type ExitCode } from '../exit-code.ts'
import { namingColumnFlag } from '../input.ts'
import { DataWriter, stoppable, type CommandContext, type Io } from '../io.ts'
import { formatCount } from '../output/numbers.ts'
import { createStyle, wantsColor, type Style } from '../output/style.ts'
import { stopGraceMs } from '../sending/outlet.ts'
import { Report } from '../sending/report.ts'
import { readAccess, type Access, type AccessFlags, type StoreAccess } from './access-flags.ts'
import { regulationRecords, withStore } from './readers.ts'
import {
  askConfiguredService,
  inMemory,
  inUse,
  RemoteAudiences,
  RemoteRegulations,
  ServiceApi,
  type ChangedRegulations,
} from './service-clients.ts'

/** The audiences that a command works on. */
export interface OpenedAudiences {
  readonly audiences: AudienceOperations
  /** Set if this process delivers; undefined if a running service does, or nothing is delivered. */
  readonly offline: OfflineWork | undefined
}

/** The audiences and regulations that a command works on. */
export interface OpenedOperations extends OpenedAudiences {
  readonly regulations: ChangedRegulations
}

/** The service in this process. */
export interface OfflineWork {
  /** Delivers and erases. */
  readonly service: Pick<OfflineService, 'idle' | 'ledger' | 'stop'>
  /** The URL of its store. */
  readonly storeUrl: string
}

/** The context of a command that shows progress. */
interface WorkRun {
  /** Streams, environment and stop signal. */
  readonly io: Io
  /** NDJSON records instead of text. */
  readonly json: boolean
  /** The style of text on stdout. */
  readonly style: Style
  /** The width of stdout; undefined if lines may have any length. */
  readonly columns: number | undefined
  readonly stdout: DataWriter
  /** Shows problems and notes to the user. */
  readonly report: Report
  /** Sets the text of the progress line. */
  readonly showProgress: (parts: () => readonly string[]) => void
  /** Milliseconds since the command began. */
  readonly elapsedMs: () => number
}

/** The context of a command that changes audiences, or previews a change. */
export type AudiencesRun = OpenedAudiences & WorkRun

/** The context of a command that changes audiences or regulations. */
export type OperationsRun = OpenedOperations & WorkRun

/** A command with its flags. */
interface CalledCommand {
  readonly flags: AccessFlags
  readonly context: CommandContext
}

/** The note on deliveries that will be retried. */
const retryNote =
  'It is tried again, as long as its destination says; Ctrl-C leaves the rest in the store'
const farFutureMs = Number.MAX_SAFE_INTEGER

/**
 * Opens the operations that the flags name, runs the work, and sets the exit code.
 *
 * @throws SettingError for flags that exclude each other; EvrouteError if nothing can do the work
 */
export async function runOperations(
  called: CalledCommand,
  work: (run: OperationsRun) => Promise<ExitCode>,
): Promise<void> {
  await runWith(called, withOperations, work)
}

/**
 * Opens the operations for a dry run, runs it, and sets the exit code. It delivers nothing.
 *
 * @throws SettingError for flags that exclude each other; EvrouteError if nothing can do the work
 */
export async function runPreview(
  called: CalledCommand,
  work: (run: AudiencesRun) => Promise<ExitCode>,
): Promise<void> {
  await runWith(called, withPreviews, work)
}

async function runWith<Opened>(
  { flags, context: { io, end } }: CalledCommand,
  open: (
    access: Access,
    parts: OperationsParts,
    work: (opened: Opened) => Promise<ExitCode>,
  ) => Promise<ExitCode>,
  work: (run: Opened & WorkRun) => Promise<ExitCode>,
): Promise<void> {
  const access = await readAccess(flags, io)
  const { json = false, color } = flags
  const elapsedMs = stopwatch()
  const look = { json, color, quiet: false, verbose: false, retryForMs: farFutureMs, retryNote }
  const report = await Report.open(io, look, elapsedMs)
  const style = await createStyle(wantsColor(io, io.stdout, color))
  const watch = new DeliveryWatch(json ? undefined : report)
  const runtime = createRuntime({ log: report.log, observer: watch })
  let parts = (): readonly string[] => []
  try {
    const code = await open(access, { io, runtime, json }, (opened) => {
      report.begin(() => [...parts(), ...watch.progress].join(' · '))
      return work({
        ...opened,
        io,
        json,
        style,
        columns: io.stdout.isTTY === true ? io.stdout.columns : undefined,
        stdout: new DataWriter(io),
        report,
        showProgress: (shown) => (parts = shown),
        elapsedMs,
      })
    })
    end(code)
  } catch (error) {
    throw namingColumnFlag(error)
  } finally {
    report.close()
  }
}

/** The parameters of {@link withOperations}. */
interface OperationsParts {
  /** Streams, environment and stop signal. */
  readonly io: Io
  /** Clock, ids, log and observer. */
  readonly runtime: Runtime
  /** Print the problems of a configuration as records on stdout. */
  readonly json: boolean
}

/**
 * Opens the operations and runs the work. They run in one of these places:
 *
 * - in the service that the flags name;
 * - in this process, on the store of a configuration;
 * - in the service of that configuration, if another process delivers from the store or the store is in
 *   memory.
 *
 * @throws ConfigurationError with all problems; EvrouteError if nothing can do the work
 */
async function withOperations<Result>(
  access: Access,
  parts: OperationsParts,
  work: (operations: OpenedOperations) => Promise<Result>,
): Promise<Result> {
  if (access.kind === 'service') return work(remote(new ServiceApi(access, parts.io.stop)))
  const { io, runtime, json } = parts
  const { path } = access
  const { configuration } = await readForCommand({ path, json, log: runtime.log }, io)
  const opened = await openOffline(access, configuration, parts)
  if (opened instanceof ServiceApi) return work(remote(opened))
  const { service, storeUrl } = opened
  try {
    const { audiences, regulations } = service
    return await work({
      audiences,
      regulations: {
        ...regulationRecords(regulations),
        create: async (request) => {
          const outcome = await regulations.create(request)
          return outcome.kind === 'created'
            ? { kind: 'created', id: outcome.regulation.id }
            : outcome
        },
      },
      offline: { service, storeUrl },
    })
  } finally {
    await service.close()
  }
}

async function openOffline(
  access: StoreAccess,
  configuration: Configuration,
  { io, runtime }: OperationsParts,
): Promise<{ readonly service: OfflineService; readonly storeUrl: string } | ServiceApi> {
  const storeUrl = access.storeUrl ?? configuration.store
  if (storeUrl === 'memory:') return askConfiguredService(configuration, inMemory, io.stop)
  try {
    const service = await OfflineService.open({ configuration, runtime, storeUrl })
    return { service, storeUrl }
  } catch (error) {
    const isInUse = error instanceof EvrouteError && error.code === 'store_in_use'
    // The configured service delivers from its own store only.
    if (!isInUse || !isStoreOf(configuration, storeUrl)) throw error
    return askConfiguredService(configuration, inUse(storeUrl), io.stop)
  }
}

/** Paths in a configuration are absolute. */
function isStoreOf({ store }: Configuration, url: string): boolean {
  const fileOf = (text: string): string => resolve(text.replace(/^sqlite:/, ''))
  return fileOf(store) === fileOf(url)
}

function remote(api: ServiceApi): OpenedOperations {
  return {
    audiences: new RemoteAudiences(api),
    regulations: new RemoteRegulations(api),
    offline: undefined,
  }
}

/**
 * Opens the operations for a dry run and runs the work. They run in one of these places:
 *
 * - in the service that the flags name;
 * - in this process, which only reads the store of a configuration while another process may deliver from it;
 * - in the service of that configuration, if the store is in memory.
 *
 * @throws ConfigurationError with all problems; EvrouteError if nothing can do the work
 */
async function withPreviews<Result>(
  access: Access,
  { io, runtime, json }: OperationsParts,
  work: (operations: OpenedAudiences) => Promise<Result>,
): Promise<Result> {
  const ask = (api: ServiceApi): Promise<Result> =>
    work({ audiences: new RemoteAudiences(api), offline: undefined })
  if (access.kind === 'service') return ask(new ServiceApi(access, io.stop))
  const { path } = access
  const { configuration } = await readForCommand({ path, json, log: runtime.log }, io)
  const storeUrl = access.storeUrl ?? configuration.store
  if (storeUrl === 'memory:') {
    return ask(await askConfiguredService(configuration, inMemory, io.stop))
  }
  const opening = { write: false, reveal: false, missing: () => undefined }
  return withStore(storeUrl, opening, ({ audiences: store }) => {
    const parts = { store, configuration: () => configuration, runtime, ending: io.stop }
    return work({ audiences: new AudiencePreviews(parts), offline: undefined })
  })
}

/** Counts settled deliveries and forwards problems to the next observer. */
class DeliveryWatch implements Observer {
  readonly #next: Observer | undefined
  #delivered = 0
  #undelivered = 0

  /** @param next - shows problems to a person; undefined if programs get only the counts */
  constructor(next: Observer | undefined) {
    this.#next = next
  }

  request(record: RequestRecord): void {
    this.#next?.request(record)
  }

  settled(delivery: SettledDelivery): void {
    if (delivery.state === 'delivered') this.#delivered++
    else this.#undelivered++
    this.#next?.settled(delivery)
  }

  endpoint(change: EndpointChange): void {
    this.#next?.endpoint(change)
  }

  /** The counts so far, as parts of a progress line. */
  get progress(): readonly string[] {
    return [
      ...(this.#delivered > 0 ? [`${formatCount(this.#delivered)} delivered`] : []),
      ...(this.#undelivered > 0 ? [`${formatCount(this.#undelivered)} not delivered`] : []),
    ]
  }
}

/** Resolves when the reader of stdout has caught up. */
export async function drained({ report, stdout }: WorkRun): Promise<void> {
  await Promise.all([report.ready(), stdout.ready()])
}

/**
 * Delivers and erases everything that is possible now, prints the summary, and returns the exit code. If a
 * running service does the work, only tells the user so.
 *
 * @param tellMore - reports more before the summary
 */
export async function finishWork(
  run: AudiencesRun,
  tellMore: () => Promise<ExitCode> = () => Promise.resolve(exitCodes.ok),
): Promise<ExitCode> {
  const { offline, io, report, json, elapsedMs } = run
  if (offline === undefined) {
    report.close()
    if (!json && !io.stop.aborted) report.note('The service delivers.')
    return codeOfEnd(io)
  }
  const codes = [...(await deliver(offline, run)), await tellMore()]
  const books = await offline.service.ledger()
  const { accepted, ...others } = books
  const counted = { read: accepted, accepted, rejected: 0, ...others }
  report.summary({
    // Records always have `read` and `rejected`. Here `read` counts the calls that this command made.
    ledger: json ? counted : books,
    durationMs: elapsedMs(),
    skipped: undefined,
  })
  for (const { equation } of imbalances(counted)) {
    report.note(`The counts do not balance: ${equation}. This is a fault of evroute`)
    codes.push(exitCodes.internal)
  }
  return gravest([...codes, verdict(books, offline, run)])
}

/** @returns the exit codes of the errors */
async function deliver(
  { service }: OfflineWork,
  { io, report }: WorkRun,
): Promise<readonly ExitCode[]> {
  try {
    if (!io.stop.aborted) await stoppable(service.idle(), io.stop)
    if (io.stop.aborted) await service.stop(stopGraceMs)
    return []
  } catch (error) {
    report.failure(error)
    return [exitCodeOf(error)]
  }
}

function verdict(
  { pending, deliveries, failed, expired }: DeliveryLedger,
  { storeUrl }: OfflineWork,
  { io, report }: WorkRun,
): ExitCode {
  const end = codeOfEnd(io)
  if (io.stop.aborted && end === exitCodes.ok) return end
  if (pending > 0) {
    const how = io.stop.aborted ? 'Interrupted: ' : ''
    const open = `${formatCount(pending)} of ${formatCount(deliveries)} deliveries`
    report.note(
      `${how}${open} were not made; they stay in ${plainText(storeName(storeUrl))}, and the next such command or ` +
        '`evroute serve` goes on with them',
    )
  }
  const isOpen = pending + failed + expired > 0
  return gravest([end, ...(isOpen ? [exitCodes.deliveryFailed] : [])])
}
