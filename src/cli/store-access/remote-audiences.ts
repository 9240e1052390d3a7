import type {
  AudienceMembersRecord,
  AudienceOperations,
  AudienceRemoveOutcome,
  AudienceRemoveRequest,
  AudienceSyncOutcome,
  AudienceSyncRequest,
  AudiencesRecord,
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
import { EvrouteError } from '../../model/index.ts'
import { ServiceRefusal, type ServiceApi, type ServiceRecord, type Upload } from './service-api.ts'

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

/** The progress listener, and the back pressure on it. */
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
    const query = new URLSearchParams({ limit: String(limit) })
    if (after !== null) {
      query.set('after', Buffer.from(JSON.stringify(after)).toString('base64url'))
    }
    const path = `${pathOf(key)}?${query.toString()}`
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
    const path = `v1/audiences/sync?${syncQuery(request)}`
    const line = await this.#work({ path, body: list }, request)
    if (line.kind === 'removal') throw this.#api.stranger()
    const { outcome, audience, ...counts } = line
    return { kind: outcome, audience: audienceOf(audience), counts }
  }

  /** @throws EvrouteError for a refusal of the service, such as `sync_running` */
  async remove(request: AudienceRemoveRequest): Promise<AudienceRemoveOutcome> {
    const { key, isDryRun } = request
    const path = `${pathOf(key)}/remove${isDryRun ? '?dryRun=true' : ''}`
    const line = await this.#work({ path, body: emptyBody() }, request)
    if (line.kind === 'sync') throw this.#api.stranger()
    return { kind: line.outcome, audience: audienceOf(line.audience), left: line.left }
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
