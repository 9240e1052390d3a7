import type {
  AudienceOperations,
  AudienceRemoveOutcome,
  AudienceRemoveRequest,
  AudienceSyncOutcome,
  AudienceSyncRequest,
  RegulationRequest,
} from '../../admin-api/index.ts'
import type { Audience, Member, MembersRequest, SyncListener } from '../../audience/index.ts'
import { EvrouteError } from '../../model/index.ts'
import {
  readAudiences,
  readDestinationSources,
  readMembers,
  readProgressLine,
  readRegulation,
  readRegulations,
  type DestinationSources,
  type ListedRegulation,
  type ProgressLine,
  type ToldRegulation,
} from './read-records.ts'
import type { CreatedRegulation, AskedRegulations } from './asked-regulations.ts'
import { refusalIn, ServiceRefusal, type ServiceApi, type Upload } from './service-api.ts'

/** The last line of a sync or a removal. */
type LastLine = Extract<ProgressLine, { kind: 'sync' | 'removal' }>

/** The progress listener, and the back pressure on it. */
type Listening = Pick<AudienceSyncRequest, 'listener' | 'drained'>

/** The audiences of a running service. */
export class RemoteAudiences implements AudienceOperations {
  readonly #api: ServiceApi

  constructor(api: ServiceApi) {
    this.#api = api
  }

  list(): Promise<readonly Audience[]> {
    return this.#api.read({ path: 'v1/audiences' }, readAudiences)
  }

  async members({ key, limit, after }: MembersRequest): Promise<readonly Member[]> {
    const query = new URLSearchParams({ limit: String(limit) })
    if (after !== null) {
      query.set('after', Buffer.from(JSON.stringify(after)).toString('base64url'))
    }
    const path = `${pathOf(key)}?${query.toString()}`
    const reply = await this.#api.ask({ path })
    const isGone = refusalIn(reply)?.code === 'not_found'
    return isGone ? [] : this.#api.understand(reply, readMembers)
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
      const line = readProgressLine(told)
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
  line: Exclude<ProgressLine, LastLine | { kind: 'error' }>,
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

/** The deletion requests of a running service. */
export class RemoteRegulations implements AskedRegulations {
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
    const { fields } = await this.#api.read({ path: 'v1/regulations', body }, readRegulation)
    return { kind: 'created', id: fields.id }
  }

  async find(id: string): Promise<ToldRegulation | undefined> {
    const reply = await this.#api.ask({ path: `v1/regulations/${encodeURIComponent(id)}` })
    const isUnknown = refusalIn(reply)?.code === 'not_found'
    return isUnknown ? undefined : this.#api.understand(reply, readRegulation)
  }

  list(request: {
    readonly limit: number
    readonly beforeId?: string | undefined
  }): Promise<readonly ListedRegulation[]> {
    const { limit, beforeId } = request
    const query = new URLSearchParams({ limit: String(limit) })
    if (beforeId !== undefined) query.set('before', beforeId)
    return this.#api.read({ path: `v1/regulations?${query.toString()}` }, readRegulations)
  }
}

/** The sources of a running service's destinations. */
export function remoteDestinations(api: ServiceApi): Promise<readonly DestinationSources[]> {
  return api.read({ path: 'v1/destinations' }, readDestinationSources)
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
