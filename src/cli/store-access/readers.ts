import type { AudienceReader } from '../../audience/index.ts'
import {
  auditRecord,
  loggedDeliveryRecord,
  readableLog,
  storyRecord,
  type AuditRecord,
  type DeliveryKey,
  type DeliveryListRecord,
  type DeliveryLog,
  type ListRequest,
  type StoryRecord,
} from '../../delivery/index.ts'
import { emptyLedger, plainText } from '../../model/index.ts'
import {
  listedRegulationRecord,
  regulationRecord,
  type ListedRegulationFields,
  type RegulationReader,
  type WholeRegulationFields,
} from '../../privacy/index.ts'
import { systemClock } from '../../runtime/index.ts'
import { storeName } from '../../store/index.ts'
import type { DestinationStatus } from '../deliveries/status.ts'
import { codeOfEnd, gravest, type ExitCode } from '../exit-code.ts'
import type { Io } from '../io.ts'
import { commandOutput, type CommandOutput } from '../output/style.ts'
import { findTarget, readAccess, type Access, type AccessValues } from './access.ts'
import type { ServiceApi } from './service-api.ts'

/** The deliveries of a store or a service, as the records that programs get. */
export interface Deliveries extends Pick<DeliveryLog, 'retry' | 'discard'> {
  /** Deliveries, newest first. */
  list(request: ListRequest): Promise<readonly DeliveryListRecord[]>
  /** The history of a delivery; undefined if it does not exist. */
  story(key: DeliveryKey): Promise<StoryRecord | undefined>
  /** Compares the ledger with the rows of the store. */
  audit(): Promise<AuditRecord>
  /** The status of the destinations; absent if only a store is open. */
  destinations?(): Promise<readonly DestinationStatus[]>
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
  /** Whether the contents come from a store or from a service. */
  readonly from: Access['kind']
  readonly deliveries: Deliveries
  readonly audiences: AudienceReader
  readonly regulations: RegulationRecords
}

/** The context of a command that reads a store or asks a service. */
export interface ReadersRun extends OpenedReaders, CommandOutput {
  readonly nowMs: number
}

/** The options of a command on a store or a service. */
export interface ReadersValues extends AccessValues {
  /** Whether to show whole URLs of endpoints; false by default. */
  readonly reveal?: boolean
  /** Whether the command changes deliveries; false by default. */
  readonly write?: boolean
}

/**
 * Opens the store or service that the options name, and runs the work. Another process may deliver from the store. A
 * store that an option names must exist. If the store of a configuration does not exist yet, it is empty, unless the
 * command changes it.
 */
export async function runReaders(
  values: ReadersValues,
  io: Io,
  work: (run: ReadersRun) => Promise<ExitCode>,
): Promise<ExitCode> {
  const { write = false, reveal = false } = values
  const target = await findTarget(await readAccess(values, io), io)
  const output = await commandOutput(values, io)
  const withOutput = (readers: OpenedReaders): Promise<ExitCode> =>
    work({ ...readers, ...output, nowMs: systemClock.nowMs() })
  if (target.kind === 'service') {
    const code = await withOutput(await serviceReaders(target.api, reveal))
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

async function serviceReaders(api: ServiceApi, reveal: boolean): Promise<OpenedReaders> {
  const { remoteDeliveries, RemoteAudiences, remoteRegulations } = await import('./remote.ts')
  return {
    from: 'service',
    deliveries: remoteDeliveries(api, reveal),
    audiences: new RemoteAudiences(api),
    regulations: remoteRegulations(api),
  }
}

interface StoreOpening {
  readonly write: boolean
  readonly reveal: boolean
  /** Called if the store does not exist; the work then sees an empty one. If undefined, a missing store is an error. */
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
      deliveries: storedDeliveries(log, reveal),
      audiences: log.audiences,
      regulations: regulationRecords(log.regulations),
    })
  } finally {
    await log.close()
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
const emptyAudit = { ledger: emptyLedger, counted: zero, purged: zero, withoutBody: 0 }

const emptyReaders: OpenedReaders = {
  from: 'store',
  deliveries: {
    list: none,
    story: () => Promise.resolve(undefined),
    retry: () => Promise.resolve(0),
    discard: () => Promise.resolve(0),
    audit: () => Promise.resolve(auditRecord(emptyAudit)),
  },
  audiences: { list: none, members: none },
  regulations: { find: () => Promise.resolve(undefined), list: none },
}
