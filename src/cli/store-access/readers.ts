import type { AudienceReader } from '../../audience/index.ts'
import { readableLog, type DeliveryLog } from '../../delivery/index.ts'
import {
  emptyLedger,
  EvrouteError,
  plainText,
  SettingError,
  systemCode,
} from '../../model/index.ts'
import {
  listedRegulationRecord,
  regulationRecord,
  type ListedRegulationFields,
  type RegulationReader,
  type WholeRegulationFields,
} from '../../privacy/index.ts'
import { systemClock } from '../../runtime/index.ts'
import type { Configuration } from '../../service/index.ts'
import { storeName } from '../../store/index.ts'
import type { DestinationStanding } from '../deliveries/standing.ts'
import { codeOfEnd, gravest, type ExitCode } from '../exit-code.ts'
import type { CommandContext, Io } from '../io.ts'
import { createStyle, wantsColor, type Style } from '../output/style.ts'
import { readAccess, type Access, type AccessFlags, type StoreAccess } from './access-flags.ts'

/** The deliveries of a store or a service. */
export interface Deliveries extends Pick<
  DeliveryLog,
  'list' | 'story' | 'retry' | 'discard' | 'audit'
> {
  /** The status of the destinations; absent if only a store is open. */
  destinations?(): Promise<readonly DestinationStanding[]>
}

/** Reads regulations, as the records that programs get. */
export interface RegulationRecords {
  /** One regulation; undefined if it does not exist. */
  find(id: string): Promise<WholeRegulationFields | undefined>
  /** Regulations, newest first. */
  list(request: {
    readonly limit: number
    readonly beforeId?: string | undefined
  }): Promise<readonly ListedRegulationFields[]>
}

/** The contents of a store or a service. */
export interface OpenedReaders {
  /** Whether a store is read or a service is asked. */
  readonly from: Access['kind']
  readonly deliveries: Deliveries
  readonly audiences: AudienceReader
  readonly regulations: RegulationRecords
}

/** The context of a command that reads a store or asks a service. */
export interface ReadersRun extends OpenedReaders {
  /** Streams and stop signal. */
  readonly io: Io
  /** NDJSON records instead of text. */
  readonly json: boolean
  /** False with `--no-color`. */
  readonly color: boolean
  /** The style of text on stdout. */
  readonly style: Style
  /** The width of stdout; undefined if lines may have any length. */
  readonly columns: number | undefined
  /** The current time, in milliseconds since 1970. */
  readonly nowMs: number
}

/** How a command opens a store. */
export interface ReadersMode {
  readonly io: Io
  /** Whether the command changes deliveries. */
  readonly write?: boolean
  /** Whether the command sees full endpoint URLs. */
  readonly reveal?: boolean
}

/** A command with its flags. */
export interface CalledCommand {
  readonly flags: AccessFlags & { readonly reveal?: boolean }
  readonly context: CommandContext
  /** Whether the command changes deliveries. */
  readonly write?: boolean
}

/**
 * Opens the store or service that the flags name, runs the work, and sets the exit code.
 *
 * @throws SettingError for flags that exclude each other; EvrouteError if the store cannot be opened or the
 * service does not answer
 */
export async function runReaders(
  { flags, context: { io, end }, write = false }: CalledCommand,
  work: (run: ReadersRun) => Promise<ExitCode>,
): Promise<void> {
  const access = await readAccess(flags, io)
  const { json = false, color, reveal = false } = flags
  const style = await createStyle(wantsColor(io, io.stdout, color))
  const columns = io.stdout.isTTY === true ? io.stdout.columns : undefined
  const nowMs = systemClock.nowMs()
  const code = await withReaders(access, { io, write, reveal }, (readers) =>
    work({ ...readers, io, json, color, style, columns, nowMs }),
  )
  end(gravest([code, codeOfEnd(io)]))
}

/**
 * Opens a store, or the service of a configuration whose store is in memory, and runs the work. Another
 * process may deliver from the store. A store that a flag names must exist. If the store of a configuration
 * does not exist yet, it is empty, unless the command changes it.
 *
 * @throws ConfigurationError with all problems; EvrouteError if the store cannot be opened or the service
 * does not answer
 */
export async function withReaders<Result>(
  access: Access,
  { io, write = false, reveal = false }: ReadersMode,
  work: (readers: OpenedReaders) => Promise<Result>,
): Promise<Result> {
  // Import on demand: a store and a service have dependencies that the other does not need.
  if (access.kind === 'service') {
    const { serviceReaders, ServiceApi } = await import('./service-clients.ts')
    return work(serviceReaders(new ServiceApi(access, io.stop), reveal))
  }
  const { storeUrl, isPathGiven } = access
  const isNamed = storeUrl !== undefined && (storeUrl !== 'memory:' || !isPathGiven)
  const url = await storeUrlOf(access, io)
  if (url === 'memory:' && !isNamed) {
    const { askConfiguredService, inMemory, serviceReaders } = await import('./service-clients.ts')
    const configuration = await readConfigurationOf(access, io)
    return work(
      serviceReaders(await askConfiguredService(configuration, inMemory, io.stop), reveal),
    )
  }
  const note = (): void => {
    const name = plainText(storeName(url))
    io.stderr.write(`There is no store yet: what is first synced or delivered makes ${name}\n`)
  }
  return withStore(url, { write, reveal, missing: isNamed || write ? undefined : note }, work)
}

/**
 * The URL of the store: from the flag, else from the configuration.
 *
 * @throws ConfigurationError with all problems; EvrouteError `cannot_read_file`
 */
export async function storeUrlOf(access: StoreAccess, io: Io): Promise<string> {
  return access.storeUrl ?? (await readConfigurationOf(access, io)).store
}

async function readConfigurationOf(
  { path, isPathGiven }: StoreAccess,
  io: Io,
): Promise<Configuration> {
  const { readFileOf } = await import('../configuration/read-for-command.ts')
  try {
    return await readFileOf(path, io)
  } catch (error) {
    const cause = error instanceof EvrouteError ? error.cause : undefined
    if (isPathGiven || systemCode(cause) !== 'ENOENT') throw error
    throw new SettingError(
      '--store',
      `Cannot tell which store is meant: there is no ${path} here`,
      'Pass --store sqlite:<file> or postgres://..., or set EVROUTE_STORE; a running service is asked with --api <url>.',
    )
  }
}

/** How to open a store. */
interface StoreOpening {
  readonly write: boolean
  readonly reveal: boolean
  /** Called if the store does not exist, which then is empty; undefined if it must exist. */
  readonly missing: (() => void) | undefined
}

/**
 * Opens a store, runs the work, and closes the store. Another process may deliver from it.
 *
 * @throws EvrouteError `store_unusable`, also if the store does not exist but must
 */
export async function withStore<Result>(
  url: string,
  { write, reveal, missing }: StoreOpening,
  work: (readers: OpenedReaders) => Promise<Result>,
): Promise<Result> {
  const { MissingStoreError, openDeliveryLog } = await import('../../store/index.ts')
  const log = await openDeliveryLog(url, { write }).catch((error: unknown) => {
    if (missing === undefined || !(error instanceof MissingStoreError)) throw error
    missing()
  })
  if (log === undefined) return work(emptyReaders)
  try {
    return await work({
      from: 'store',
      deliveries: {
        ...readableLog(log, reveal),
        retry: (request) => log.retry(request),
        discard: (request) => log.discard(request),
        audit: () => log.audit(),
      },
      audiences: log.audiences,
      regulations: regulationRecords(log.regulations),
    })
  } finally {
    await log.close()
  }
}

/** The regulations of a store. */
export function regulationRecords(reader: RegulationReader): RegulationRecords {
  return {
    find: async (id) => {
      const regulation = await reader.find({ id })
      return regulation && regulationRecord(regulation)
    },
    list: async (request) => (await reader.list(request)).map(listedRegulationRecord),
  }
}

const none = (): Promise<readonly never[]> => Promise.resolve([])
const zero = { pending: 0, delivered: 0, failed: 0, expired: 0 }

const emptyReaders: OpenedReaders = {
  from: 'store',
  deliveries: {
    list: none,
    story: () => Promise.resolve(undefined),
    retry: () => Promise.resolve(0),
    discard: () => Promise.resolve(0),
    audit: () =>
      Promise.resolve({ ledger: emptyLedger, counted: zero, purged: zero, withoutBody: 0 }),
  },
  audiences: { list: none, members: none },
  regulations: { find: () => Promise.resolve(undefined), list: none },
}
