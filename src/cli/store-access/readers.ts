import type {
  AnswerRecord,
  DeliveryListRecord,
  ListedRegulationFields,
} from '../../admin-api/index.ts'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { AudienceReader } from '../../audience/index.ts'
import {
  auditRecord,
  loggedDeliveryRecord,
  readableLog,
  storyRecord,
  type DeliveryKey,
  type DeliveryLog,
  type ListRequest,
} from '../../delivery/index.ts'
import { checkUrl, fullUrl, plainText, SettingError } from '../../model/index.ts'
import {
  listedRegulationRecord,
  regulationRecord,
  type RegulationReader,
} from '../../privacy/index.ts'
import { systemClock } from '../../runtime/index.ts'
import type { Configuration } from '../../service/index.ts'
import { storeName } from '../../store/index.ts'
import type { DestinationStatus } from '../deliveries/status.ts'
import { codeOfEnd, gravest, type ExitCode } from '../exit-code.ts'
import {
  defaultConfigurationPath,
  type AccessValues,
  type StoreValues,
  type TargetValues,
} from '../flags.ts'
import type { Io } from '../io.ts'
import { commandOutput, type CommandOutput } from '../output/style.ts'
import { readGiven, readStoreUrl } from '../secret.ts'
import type { ServiceApi } from './service-api.ts'

type Target =
  | { readonly kind: 'service'; readonly api: ServiceApi }
  | {
      readonly kind: 'store'
      readonly url: string
      /** Whether a flag or EVROUTE_STORE names the store. If false, the configuration does. */
      readonly isNamed: boolean
    }

/**
 * Finds the store or service that the options name. A service takes precedence over the store of the configuration. A
 * configured store in memory can only be reached through the configured service.
 */
export async function findTarget(
  values: TargetValues,
  io: Io,
  configuration?: Configuration,
): Promise<Target> {
  const api = await namedService(values, io)
  if (api !== undefined) return { kind: 'service', api }
  const { config, store } = values
  const storeUrl = await readStoreUrl(store, io)
  const isNamed = storeUrl !== undefined && (storeUrl !== 'memory:' || config === undefined)
  if (isNamed && configuration === undefined) return { kind: 'store', url: storeUrl, isNamed }
  const read = configuration ?? (await readConfigurationOf(config, io))
  const url = storeUrl ?? read.store
  if (url !== 'memory:') return { kind: 'store', url, isNamed }
  const { askConfiguredService, inMemory } = await import('./remote.ts')
  return { kind: 'service', api: await askConfiguredService(read, inMemory, io.stop) }
}

/** Returns the service that `--api` names; undefined without `--api`. */
export async function namedService(
  { config, store, api, token }: TargetValues,
  io: Io,
): Promise<ServiceApi | undefined> {
  if (api === undefined) {
    if (token === undefined) return undefined
    throw new SettingError('--token', 'Cannot use --token without --api')
  }
  if (config !== undefined || store !== undefined) {
    const other = config === undefined ? '--store' : '--config'
    throw new SettingError('--api', `Cannot use --api together with ${other}`)
  }
  const access = { url: checkUrl('--api', fullUrl(api)), token: await readToken(token, io) }
  // Import on demand: commands on a store don't need a client.
  const { ServiceApi } = await import('./service-api.ts')
  return new ServiceApi(access, io.stop)
}

async function readToken(token: string | undefined, io: Io): Promise<string> {
  const given = (token ?? io.env['EVROUTE_ADMIN_TOKEN']) || undefined
  const read = await readGiven(given, io, '--token')
  if (read === undefined) {
    throw new SettingError(
      '--token',
      'Cannot ask the service without its admin token',
      'Pass --token <value>, env:NAME or @file, or set EVROUTE_ADMIN_TOKEN.',
    )
  }
  if (!/\p{Cc}/u.test(read)) return read
  throw new SettingError(
    '--token',
    'Cannot use the admin token: it has a line break or another control character',
    'Check the file or variable that it comes from.',
  )
}

/** Returns the URL of the store: from `--store`, EVROUTE_STORE or the configuration, in this order. */
export async function storeUrlOf({ config, store }: StoreValues, io: Io): Promise<string> {
  return (await readStoreUrl(store, io)) ?? (await readConfigurationOf(config, io)).store
}

async function readConfigurationOf(config: string | undefined, io: Io): Promise<Configuration> {
  const { readFileIfThere, readFileOf } = await import('../configuration/read-for-command.ts')
  if (config !== undefined) return readFileOf(config, io)
  const read = await readFileIfThere(defaultConfigurationPath, io)
  if (read !== undefined) return read
  throw new SettingError(
    '--store',
    `Cannot tell which store is meant: there is no ${defaultConfigurationPath} here`,
    'Pass --store sqlite:<file> or postgres://..., or set EVROUTE_STORE. To ask a running service, pass --api <url>.',
  )
}

/** A {@link DeliveryLog} of a store or a service. It returns records as they are printed with `--json`. */
export interface Deliveries extends Pick<DeliveryLog, 'retry' | 'discard'> {
  list(request: ListRequest): Promise<readonly DeliveryListRecord[]>
  story(key: DeliveryKey): Promise<AnswerRecord<'story'> | undefined>
  audit(): Promise<AnswerRecord<'audit'>>
  /** Returns the status of the destinations. Only a service knows it. */
  destinations?(): Promise<readonly DestinationStatus[]>
}

/** A {@link RegulationReader} of a store or a service. It returns records as they are printed with `--json`. */
export interface RegulationRecords {
  find(id: string): Promise<AnswerRecord<'regulation'> | undefined>
  list(request: Parameters<RegulationReader['list']>[0]): Promise<readonly ListedRegulationFields[]>
}

/** What a command reads: deliveries, audiences and regulations of a store or a service. */
export interface OpenedReaders {
  readonly from: Target['kind']
  readonly deliveries: Deliveries
  readonly audiences: AudienceReader
  readonly regulations: RegulationRecords
}

/** Passed to commands that read a store or ask a service. */
export interface ReadersRun extends OpenedReaders, CommandOutput {
  readonly nowMs: number
}

/** The options of a command that reads or changes the contents of a store or a service. */
export interface ReadersValues extends AccessValues {
  /** Whether to show whole URLs of endpoints; false by default. */
  readonly reveal?: boolean
  /** Whether the command changes deliveries; false by default. */
  readonly write?: boolean
}

/**
 * Opens the store or service that the options name, and runs the work. A missing store is an error,
 * except that a command that only reads treats a missing configured store as empty.
 */
export async function runReaders(
  values: ReadersValues,
  io: Io,
  work: (run: ReadersRun) => Promise<ExitCode>,
): Promise<ExitCode> {
  const { write = false, reveal = false } = values
  const target = await findTarget(values, io)
  const output = commandOutput(values, io)
  const withOutput = (readers: OpenedReaders): Promise<ExitCode> =>
    work({ ...readers, ...output, nowMs: systemClock.nowMs() })
  if (target.kind === 'service') {
    const { remoteDeliveries } = await import('./service-api.ts')
    const { remoteOperations } = await import('./remote.ts')
    const { api } = target
    const code = await withOutput({
      from: 'service',
      deliveries: remoteDeliveries(api, reveal),
      ...remoteOperations(api),
    })
    return gravest([code, codeOfEnd(io)])
  }
  const { url, isNamed } = target
  const note = (): void => {
    const name = plainText(storeName(url))
    io.stderr.write(`There is no store yet. The first delivery or sync creates ${name}\n`)
  }
  const opening = { write, reveal, missing: isNamed || write ? undefined : note }
  return gravest([await withStore(url, opening, withOutput), codeOfEnd(io)])
}

interface StoreOpening {
  readonly write: boolean
  readonly reveal: boolean
  /** Called if the store does not exist; the work then reads an empty one. If undefined, a missing store fails. */
  readonly missing: (() => void) | undefined
}

/** Runs the work on a store that another process may be using. Throws `store_unusable`. */
export async function withStore<Result>(
  url: string,
  { write, reveal, missing }: StoreOpening,
  work: (readers: OpenedReaders) => Promise<Result>,
): Promise<Result> {
  const { MissingStoreError, openDeliveryLog, openStore } = await import('../../store/index.ts')
  const log = await openDeliveryLog(url, { write }).catch((error: unknown) => {
    if (missing === undefined || !(error instanceof MissingStoreError)) throw error
    missing()
    return openStore('memory:')
  })
  try {
    return await work({
      from: 'store',
      deliveries: storedDeliveries(log, reveal),
      audiences: log.audiences,
      regulations: regulationRecords(log.regulations),
    })
  } finally {
    await log.close()
  }
}

/** Yields up to `limit` rows in pages; ends early on `stop`. `read` returns up to `count` rows that follow `last`. */
export async function* pagesOf<Row>(
  { limit, pageMax, stop }: { readonly limit: number; readonly pageMax: number } & Pick<Io, 'stop'>,
  read: (count: number, last: Row | undefined) => Promise<readonly Row[]>,
): AsyncGenerator<readonly Row[]> {
  let remaining = limit
  let last: Row | undefined
  while (remaining > 0) {
    // Let the event loop turn, so that signals are handled.
    await nextTurn()
    if (stop.aborted) return
    const count = Math.min(remaining, pageMax)
    const page = await read(count, last)
    if (page.length > 0) yield page
    if (page.length < count) return
    last = page.at(-1)
    remaining -= page.length
  }
}

function storedDeliveries(log: DeliveryLog, reveal: boolean): Deliveries {
  const readable = readableLog(log, reveal)
  return {
    list: async (request) => (await readable.list(request)).map(loggedDeliveryRecord),
    story: async (key) => {
      const story = await readable.story(key)
      return story && storyRecord(story)
    },
    retry: (request) => log.retry(request),
    discard: (request) => log.discard(request),
    audit: async () => auditRecord(await log.audit()),
  }
}

/** Reads the regulations of a store. */
export function regulationRecords(reader: RegulationReader): RegulationRecords {
  return {
    find: async (id) => {
      const regulation = await reader.find({ id })
      return regulation && regulationRecord(regulation)
    },
    list: async (request) => (await reader.list(request)).map(listedRegulationRecord),
  }
}
