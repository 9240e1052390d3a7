import type {
  DeliveriesRecord,
  DestinationsRecord,
  AudienceMembersRecord,
  AudienceOperations,
  AudienceRemoveOutcome,
  AudienceRemoveRequest,
  AudienceSyncOutcome,
  AudienceSyncRequest,
  AudiencesRecord,
  RegulationsRecord,
} from '../../admin-api/index.ts'
import type {
  Audience,
  AudienceFields,
  Member,
  MemberFields,
  MembersRequest,
  MembershipChange,
  RejectedRow,
  SyncCounts,
  SyncListener,
  SyncOutcome,
} from '../../audience/index.ts'
import { formatDeliveryId, type DeliveryFilter, type RetryRequest } from '../../delivery/index.ts'
import { formatTimestamp } from '../../model/index.ts'
import type { RegulationRequest, WholeRegulationFields } from '../../privacy/index.ts'
import type { Deliveries, RegulationRecords } from './readers.ts'
import type { ServiceApi, ServiceRecord, Upload } from './service-api.ts'

/** Opens the deliveries of a running service. `reveal` asks for whole URLs of endpoints. */
export function remoteDeliveries(api: ServiceApi, reveal: boolean): Deliveries {
  const queryOf = (parameters: Parameters): string =>
    queryText({ ...parameters, reveal: reveal ? 'true' : undefined })
  const change = async (kind: 'retry' | 'discard', request: RetryRequest): Promise<number> => {
    const answer = await api.read<{ readonly deliveries: number }>(
      { path: `v1/deliveries/${kind}`, body: selectionOf(request) },
      kind,
    )
    return answer.deliveries
  }
  return {
    list: async ({ filter, limit, beforeId }) => {
      const query = queryOf({ limit, before: beforeId, ...conditionsOf(filter) })
      const path = `v1/deliveries${query}`
      return (await api.read<DeliveriesRecord>({ path }, 'deliveries')).deliveries
    },
    story: ({ destinationId, id }) => {
      const path = `v1/deliveries/${encodeURIComponent(destinationId)}/${id}${queryOf({})}`
      return api.find(path, 'story')
    },
    retry: (request) => change('retry', request),
    discard: (request) => change('discard', request),
    audit: () => api.read({ path: 'v1/audit' }, 'audit'),
    destinations: async () => {
      const path = `v1/destinations${queryOf({})}`
      return (await api.read<DestinationsRecord>({ path }, 'destinations')).destinations
    },
  }
}

/** The parameters of a query; several values repeat the parameter. */
type Parameters = Readonly<Record<string, string | number | readonly string[] | undefined>>

/** The query of a path, with its question mark; empty without parameters. */
function queryText(parameters: Parameters): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(parameters)) {
    for (const each of [value].flat()) if (each !== undefined) query.append(name, String(each))
  }
  return query.size === 0 ? '' : `?${query.toString()}`
}

/** The body of a retry or discard request: conditions, or all deliveries. */
function selectionOf({ filter, limit }: RetryRequest): object {
  const conditions = conditionsOf(filter)
  const isAll = Object.values(conditions).every((condition) => condition === undefined)
  return { ...conditions, ...(isAll ? { all: true } : {}), limit }
}

/** The earliest time sent to the API: a duration ago can reach further back than dates can be written. */
const earliestMs = Date.UTC(1970, 0, 1)

/** A filter, with the parameter names of the API. */
function conditionsOf(filter: DeliveryFilter): Parameters {
  const { destinationId, id, sinceMs, untilMs } = filter
  const isOne = destinationId !== undefined && id !== undefined
  const written = (atMs: number | undefined): string | undefined =>
    atMs === undefined ? undefined : formatTimestamp(Math.max(atMs, earliestMs))
  return {
    id: isOne ? formatDeliveryId({ destinationId, id }) : undefined,
    destination: isOne ? undefined : destinationId,
    state: filter.states,
    type: filter.types,
    user: filter.userId,
    message: filter.messageId,
    since: written(sinceMs),
    until: written(untilMs),
  }
}

/** One line of a service's progress while it syncs or removes an audience. */
type ProgressLine =
  | (RejectedRow & { readonly kind: 'rejected' })
  | (MemberFields & { readonly kind: 'change' })
  | { readonly kind: 'comparing'; readonly members: number }
  | (SyncCounts & { readonly kind: 'progress' })
  | LastLine
  | { readonly kind: 'error'; readonly code: string; readonly message: string }

/** The last line of a sync or a removal. */
type LastLine =
  | (SyncCounts & {
      readonly kind: 'sync'
      readonly outcome: Exclude<SyncOutcome['kind'], 'taken'>
      readonly audience: AudienceFields
    })
  | {
      readonly kind: 'removal'
      readonly outcome: 'removed' | 'ended' | 'superseded'
      readonly audience: AudienceFields
      readonly left: number
    }

/** The listener for progress, and how to wait until it can take more. */
type Listening = Pick<AudienceSyncRequest, 'listener' | 'drained'>

/** The audiences of a running service. */
export class RemoteAudiences implements AudienceOperations {
  readonly #api: ServiceApi

  constructor(api: ServiceApi) {
    this.#api = api
  }

  async list(): Promise<readonly Audience[]> {
    const page = await this.#api.read<AudiencesRecord>({ path: 'v1/audiences' }, 'audiences')
    return page.audiences.map(audienceOf)
  }

  async members({ key, limit, after }: MembersRequest): Promise<readonly Member[]> {
    const position =
      after === null ? undefined : Buffer.from(JSON.stringify(after)).toString('base64url')
    const path = `${pathOf(key)}${queryText({ limit, after: position })}`
    const page = await this.#api.find<AudienceMembersRecord>(path, 'audience')
    return (page?.memberList ?? []).map(changeOf).map(({ identity, value }) => ({
      identity,
      value: value ?? 'null',
    }))
  }

  /** @throws EvrouteError for a refusal of the service, such as `sync_running` */
  async sync(
    request: AudienceSyncRequest,
    list: AsyncIterable<Uint8Array>,
  ): Promise<AudienceSyncOutcome> {
    const path = `v1/audiences/sync${syncQuery(request)}`
    const line = await this.#follow({ path, body: list }, request)
    if (line.kind === 'removal') throw this.#api.stranger()
    const { outcome, audience, ...counts } = line
    return { kind: outcome, audience: audienceOf(audience), counts }
  }

  /** @throws EvrouteError for a refusal of the service, such as `sync_running` */
  async remove(request: AudienceRemoveRequest): Promise<AudienceRemoveOutcome> {
    const { key, isDryRun } = request
    const path = `${pathOf(key)}/remove${isDryRun ? '?dryRun=true' : ''}`
    const line = await this.#follow({ path, body: emptyBody() }, request)
    if (line.kind === 'sync') throw this.#api.stranger()
    return { kind: line.outcome, audience: audienceOf(line.audience), left: line.left }
  }

  async #follow(upload: Upload, { listener, drained }: Listening): Promise<LastLine> {
    for await (const record of this.#api.upload(upload)) {
      const last = this.#take(record, listener)
      if (last !== undefined) return last
      await drained?.()
    }
    throw this.#api.brokenOff('it ended its answer early')
  }

  /** @returns the last line */
  #take(record: ServiceRecord, listener: SyncListener): LastLine | undefined {
    const line = record as ProgressLine
    switch (line.kind) {
      case 'rejected':
        listener.rejected(line)
        return undefined
      case 'change':
        listener.changed([changeOf(line)])
        return undefined
      case 'comparing':
        listener.comparing?.(line.members)
        return undefined
      case 'progress':
        listener.progress(line)
        return undefined
      case 'sync':
      case 'removal':
        return line
      case 'error':
        throw this.#api.failed(line)
      default:
        throw this.#api.stranger()
    }
  }
}

function syncQuery(request: AudienceSyncRequest): string {
  const { name, key, computationClass, sourceId, columns, isDryRun } = request
  return queryText({
    ...{ name, key, class: computationClass, source: sourceId, valueColumn: columns.value },
    ...{ idColumn: columns.userIds, dryRun: isDryRun ? 'true' : undefined },
  })
}

function pathOf(key: string): string {
  return `v1/audiences/${encodeURIComponent(key)}`
}

async function* emptyBody(): AsyncGenerator<Uint8Array> {
  // A removal has no body.
}

function audienceOf(fields: AudienceFields): Audience {
  const { key, name, computationId, members, createdAt, syncedAt } = fields
  return {
    ...{ key, name, computationId, members },
    computationClass: fields.class,
    sourceId: fields.source,
    createdAtMs: Date.parse(createdAt ?? ''),
    syncedAtMs: syncedAt === null ? null : Date.parse(syncedAt),
  }
}

function changeOf({ userId, anonymousId, email, value }: MemberFields): MembershipChange {
  return {
    identity: { userId, anonymousId, email },
    value: value === null ? null : JSON.stringify(value),
  }
}

/** The outcome of a request for a regulation. */
type CreatedRegulation =
  | { readonly kind: 'created'; readonly id: string }
  | { readonly kind: 'unknown_source'; readonly knownIds: readonly string[] }

/** Creates and reads deletion requests. */
export interface ChangedRegulations extends RegulationRecords {
  /** Stores a regulation. The service carries it out after the answer. */
  create(request: RegulationRequest): Promise<CreatedRegulation>
}

/** Opens the deletion requests of a running service. */
export function remoteRegulations(api: ServiceApi): ChangedRegulations {
  return {
    create: async ({ type, userIds, sourceIds }) => {
      const asked = { regulationType: type, subjectType: 'USER_ID', subjectIds: userIds }
      const body = { ...asked, ...(sourceIds === null ? {} : { sources: sourceIds }) }
      const question = { path: 'v1/regulations', body }
      const { id } = await api.read<WholeRegulationFields>(question, 'regulation')
      return { kind: 'created', id }
    },
    find: (id) => api.find(`v1/regulations/${encodeURIComponent(id)}`, 'regulation'),
    list: async ({ limit, beforeId }) => {
      const path = `v1/regulations${queryText({ limit, before: beforeId })}`
      return (await api.read<RegulationsRecord>({ path }, 'regulations')).regulations
    },
  }
}
