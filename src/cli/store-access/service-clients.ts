import type {
  AudienceOperations,
  AudienceRemoveOutcome,
  AudienceRemoveRequest,
  AudienceSyncOutcome,
  AudienceSyncRequest,
  RegulationRequest,
} from '../../admin-api/index.ts'
import type { Audience, Member, MembersRequest, SyncListener } from '../../audience/index.ts'
import {
  formatDeliveryId,
  type DeliveryFilter,
  type DeliveryKey,
  type DeliveryStory,
  type DiscardRequest,
  type ListRequest,
  type LoggedDelivery,
  type RetryRequest,
  type StoreAudit,
} from '../../delivery/index.ts'
import { EvrouteError, formatTimestamp, SettingError } from '../../model/index.ts'
import type { ListedRegulationFields, WholeRegulationFields } from '../../privacy/index.ts'
import type { Configuration } from '../../service/index.ts'
import { storeName } from '../../store/index.ts'
import type { DestinationStanding } from '../deliveries/standing.ts'
import type { Deliveries, OpenedReaders, RegulationRecords } from './readers.ts'
import { refusalIn, ServiceApi, ServiceRefusal, type Upload } from './service-api.ts'
import * as read from './service-records.ts'

export { ServiceApi } from './service-api.ts'

/** The contents of a running service. */
export function serviceReaders(api: ServiceApi, reveal: boolean): OpenedReaders {
  return {
    from: 'service',
    deliveries: new RemoteDeliveries(api, reveal),
    audiences: new RemoteAudiences(api),
    regulations: new RemoteRegulations(api),
  }
}

/** Why the service of a configuration is asked. */
export interface WhyAsked {
  /** Why the command cannot do the work itself, as the beginning of a sentence. */
  readonly because: string
  /** What to do if no service answers. */
  readonly hint: string
}

/** The store is in memory. */
export const inMemory: WhyAsked = {
  because: 'The store is memory:, where a command forgets all that it does when it ends',
  hint: 'Start `evroute serve` with an admin API, or name a store that lasts: --store sqlite:<file> or postgres://...',
}

/** Another process delivers from the store. */
export function inUse(storeUrl: string): WhyAsked {
  return {
    because: `Another process delivers from ${storeName(storeUrl)}`,
    hint: 'Where that is a service, name its admin API with --api and --token; else run this again once it has ended.',
  }
}

/**
 * Connects to the running service of a configuration.
 *
 * @throws EvrouteError `store_in_use` if there is none; SettingError if something else answers, or the
 * service has another token
 */
export async function askConfiguredService(
  { admin }: Pick<Configuration, 'admin'>,
  { because, hint }: WhyAsked,
  stop: AbortSignal,
): Promise<ServiceApi> {
  const refuse = (why: string, cause?: unknown): EvrouteError =>
    new EvrouteError({ code: 'store_in_use', message: `${because}, ${why}`, hint, cause })
  if (admin === undefined) throw refuse('and the configuration has no admin API to ask')
  if (admin.port === 0) throw refuse('and the admin API of the configuration has any free port')
  const url = `http://127.0.0.1:${admin.port}/`
  const api = new ServiceApi({ kind: 'service', url, token: admin.token }, stop)
  try {
    await api.read({ path: 'v1/audiences' }, read.audiences)
    return api
  } catch (error) {
    const isSilent = error instanceof EvrouteError && !(error instanceof SettingError)
    if (!isSilent) throw error
    throw refuse(`and no service answers at ${url}`, error)
  }
}

/** The last line of a sync or a removal. */
type LastLine = Extract<read.ProgressLine, { kind: 'sync' | 'removal' }>

/** The progress listener, and the back pressure on it. */
type Listening = Pick<AudienceSyncRequest, 'listener' | 'drained'>

/** The audiences of a running service. */
export class RemoteAudiences implements AudienceOperations {
  readonly #api: ServiceApi

  constructor(api: ServiceApi) {
    this.#api = api
  }

  list(): Promise<readonly Audience[]> {
    return this.#api.read({ path: 'v1/audiences' }, read.audiences)
  }

  async members({ key, limit, after }: MembersRequest): Promise<readonly Member[]> {
    const query = new URLSearchParams({ limit: String(limit) })
    if (after !== null) {
      query.set('after', Buffer.from(JSON.stringify(after)).toString('base64url'))
    }
    const path = `${pathOf(key)}?${query.toString()}`
    const reply = await this.#api.ask({ path })
    const isGone = refusalIn(reply)?.code === 'not_found'
    return isGone ? [] : this.#api.understand(reply, read.members)
  }

  /** @throws EvrouteError for a refusal of the service, such as `sync_running` */
  async sync(
    request: AudienceSyncRequest,
    list: AsyncIterable<Uint8Array>,
  ): Promise<AudienceSyncOutcome> {
    const path = `v1/audiences/sync?${syncQuery(request)}`
    const line = await this.#work({ path, body: list }, request)
    if (line.kind === 'removal') throw this.#api.stranger()
    return { kind: line.outcome, audience: line.audience, counts: line.counts }
  }

  /** @throws EvrouteError for a refusal of the service, such as `sync_running` */
  async remove(request: AudienceRemoveRequest): Promise<AudienceRemoveOutcome> {
    const { key, isDryRun } = request
    const path = `${pathOf(key)}/remove${isDryRun ? '?dryRun=true' : ''}`
    const line = await this.#work({ path, body: nothing() }, request)
    if (line.kind === 'sync') throw this.#api.stranger()
    return { kind: line.outcome, audience: line.audience, left: line.left }
  }

  async #work(upload: Upload, listening: Listening): Promise<LastLine> {
    try {
      return await this.#follow(upload, listening)
    } catch (error) {
      if (!(error instanceof ServiceRefusal)) throw error
      if (error.code !== 'sync_running') throw error.error
      // Only the service knows the key of a name, and its message says it.
      const { message } = error.error
      throw new EvrouteError({ code: 'sync_running', message, cause: error })
    }
  }

  async #follow(upload: Upload, { listener, drained }: Listening): Promise<LastLine> {
    for await (const told of this.#api.upload(upload)) {
      const line = read.progressLine(told)
      if (line === undefined) throw this.#api.stranger()
      if (line.kind === 'error') throw this.#api.failed(line)
      if (line.kind === 'sync' || line.kind === 'removal') return line
      passOn(line, listener)
      await drained?.()
    }
    throw this.#api.brokenOff('it ended its answer early')
  }
}

function passOn(
  line: Exclude<read.ProgressLine, LastLine | { kind: 'error' }>,
  listener: SyncListener,
): void {
  switch (line.kind) {
    case 'rejected':
      listener.rejected(line.row)
      return
    case 'change':
      listener.changed([line.change])
      return
    case 'comparing':
      listener.comparing?.(line.members)
      return
    case 'progress':
      listener.progress(line.counts)
      return
  }
}

/** The outcome of a request for a regulation. */
export type CreatedRegulation =
  | { readonly kind: 'created'; readonly id: string }
  | { readonly kind: 'unknown_source'; readonly knownIds: readonly string[] }

/** Creates and reads deletion requests. */
export interface ChangedRegulations extends RegulationRecords {
  /** Stores a regulation. The service carries it out after the answer. */
  create(request: RegulationRequest): Promise<CreatedRegulation>
}

/** The deletion requests of a running service. */
export class RemoteRegulations implements ChangedRegulations {
  readonly #api: ServiceApi

  constructor(api: ServiceApi) {
    this.#api = api
  }

  /** @throws EvrouteError for a refusal of the service, such as an unknown source */
  async create(request: RegulationRequest): Promise<CreatedRegulation> {
    const { type, userIds, sourceIds } = request
    const sources = sourceIds === null ? {} : { sources: sourceIds }
    const body = {
      regulationType: type,
      subjectType: 'USER_ID',
      subjectIds: userIds,
      ...sources,
    }
    const { id } = await this.#api.read({ path: 'v1/regulations', body }, read.regulation)
    return { kind: 'created', id }
  }

  async find(id: string): Promise<WholeRegulationFields | undefined> {
    const reply = await this.#api.ask({ path: `v1/regulations/${encodeURIComponent(id)}` })
    const isUnknown = refusalIn(reply)?.code === 'not_found'
    return isUnknown ? undefined : this.#api.understand(reply, read.regulation)
  }

  list(request: {
    readonly limit: number
    readonly beforeId?: string | undefined
  }): Promise<readonly ListedRegulationFields[]> {
    const { limit, beforeId } = request
    const query = new URLSearchParams({ limit: String(limit) })
    if (beforeId !== undefined) query.set('before', beforeId)
    return this.#api.read({ path: `v1/regulations?${query.toString()}` }, read.regulations)
  }
}

function syncQuery(request: AudienceSyncRequest): string {
  const { name, key, computationClass, sourceId, columns, isDryRun } = request
  const query = new URLSearchParams()
  const given = { name, key, class: computationClass, source: sourceId, valueColumn: columns.value }
  for (const [parameter, value] of Object.entries(given)) {
    if (value !== undefined) query.set(parameter, value)
  }
  for (const column of columns.userIds) query.append('idColumn', column)
  if (isDryRun) query.set('dryRun', 'true')
  return query.toString()
}

function pathOf(key: string): string {
  return `v1/audiences/${encodeURIComponent(key)}`
}

async function* nothing(): AsyncGenerator<Uint8Array> {
  // A removal has no body.
}

/** The earliest time sent to the API: a duration ago can reach further back than dates can be written. */
const earliestMs = Date.UTC(1970, 0, 1)

/** The deliveries of a running service. */
export class RemoteDeliveries implements Deliveries {
  readonly #api: ServiceApi
  readonly #reveal: boolean

  /** @param reveal - whether full endpoint URLs are shown */
  constructor(api: ServiceApi, reveal: boolean) {
    this.#api = api
    this.#reveal = reveal
  }

  list(request: ListRequest): Promise<readonly LoggedDelivery[]> {
    const { filter, limit, beforeId } = request
    const query = new URLSearchParams({ limit: String(limit) })
    if (beforeId !== undefined) query.set('before', String(beforeId))
    for (const [name, value] of Object.entries(conditionsOf(filter))) {
      for (const each of [value].flat()) if (each !== undefined) query.append(name, each)
    }
    const path = this.#revealing(`v1/deliveries?${query.toString()}`)
    return this.#api.read({ path }, read.deliveries)
  }

  async story({ destinationId, id }: DeliveryKey): Promise<DeliveryStory | undefined> {
    const path = this.#revealing(`v1/deliveries/${encodeURIComponent(destinationId)}/${id}`)
    const reply = await this.#api.ask({ path })
    // A delivery may have been purged since it was listed. That is not an error.
    const isGone = refusalIn(reply)?.code === 'not_found'
    return isGone ? undefined : this.#api.understand(reply, read.story)
  }

  retry(request: RetryRequest): Promise<number> {
    return this.#api.read({ path: 'v1/deliveries/retry', body: selectionOf(request) }, read.retried)
  }

  discard(request: DiscardRequest): Promise<number> {
    const question = { path: 'v1/deliveries/discard', body: selectionOf(request) }
    return this.#api.read(question, read.discarded)
  }

  audit(): Promise<StoreAudit> {
    return this.#api.read({ path: 'v1/audit' }, read.audit)
  }

  destinations(): Promise<readonly DestinationStanding[]> {
    return this.#api.read({ path: this.#revealing('v1/destinations') }, read.destinations)
  }

  #revealing(path: string): string {
    return this.#reveal ? `${path}${path.includes('?') ? '&' : '?'}reveal=true` : path
  }
}

/** The body of a retry or discard request: conditions, or all deliveries. */
function selectionOf({ filter, limit }: RetryRequest): object {
  const conditions = conditionsOf(filter)
  const isAll = Object.values(conditions).every((condition) => condition === undefined)
  return { ...conditions, ...(isAll ? { all: true } : {}), limit }
}

/** A filter, with the parameter names of the API. */
function conditionsOf(
  filter: DeliveryFilter,
): Readonly<Record<string, string | readonly string[] | undefined>> {
  const { destinationId, id, sinceMs, untilMs } = filter
  const isOne = destinationId !== undefined && id !== undefined
  return {
    id: isOne ? formatDeliveryId({ destinationId, id }) : undefined,
    destination: isOne ? undefined : destinationId,
    state: filter.states,
    type: filter.types,
    user: filter.userId,
    message: filter.messageId,
    since: sinceMs === undefined ? undefined : formatTimestamp(Math.max(sinceMs, earliestMs)),
    until: untilMs === undefined ? undefined : formatTimestamp(Math.max(untilMs, earliestMs)),
  }
}
