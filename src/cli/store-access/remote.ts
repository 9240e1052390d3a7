import { Readable } from 'node:stream'
import type {
  AnswerRecord,
  AudienceFields,
  AudienceOperations,
  AudienceSyncRequest,
  MemberFields,
} from '../../admin-api/index.ts'
import type {
  Audience,
  changeRecord,
  comparingRecord,
  MembershipChange,
  progressRecord,
  rejectedRecord,
  removalRecord,
  syncRecord,
} from '../../audience/index.ts'
import { EvrouteError, SettingError } from '../../model/index.ts'
import type { RegulationRequest, UnknownSource } from '../../privacy/index.ts'
import type { Configuration } from '../../service/index.ts'
import { storeName } from '../../store/index.ts'
import type { RegulationRecords } from './readers.ts'
import { queryText, ServiceApi, type ServiceRecord } from './service-api.ts'

type LastLine = ReturnType<typeof syncRecord | typeof removalRecord>

type ProgressLine =
  | ReturnType<typeof rejectedRecord | typeof changeRecord>
  | ReturnType<typeof comparingRecord | typeof progressRecord>
  | LastLine
  | { readonly kind: 'error'; readonly code: string; readonly message: string }

function remoteAudiences(api: ServiceApi): AudienceOperations {
  return {
    list: async () => {
      const page = await api.read('audiences', 'v1/audiences')
      return page.audiences.map(audienceOf)
    },
    members: async ({ key, limit, after }) => {
      const position =
        after === null ? undefined : Buffer.from(JSON.stringify(after)).toString('base64url')
      const path = `${pathOf(key)}${queryText({ limit, after: position })}`
      const page = await api.find<AnswerRecord<'members'>>('audience', path)
      return (page?.memberList ?? [])
        .map(changeOf)
        .map(({ identity, value }) => ({ identity, value: value ?? 'null' }))
    },
    sync: async (request, list) => {
      const { name, key, computationClass, sourceId, columns, isDryRun } = request
      const query = queryText({
        ...{ name, key, class: computationClass, source: sourceId, valueColumn: columns.value },
        ...{ idColumn: columns.userIds, dryRun: isDryRun ? 'true' : undefined },
      })
      const records = api.upload(`v1/audiences/sync${query}`, list)
      const line = await lastLine(records, request, api)
      if (line.kind === 'removal') throw api.stranger()
      const { outcome, audience, ...counts } = line
      return { kind: outcome, audience: audienceOf(audience), counts }
    },
    remove: async (request) => {
      const path = `${pathOf(request.key)}/remove${request.isDryRun ? '?dryRun=true' : ''}`
      const line = await lastLine(api.upload(path, Readable.from([])), request, api)
      if (line.kind === 'sync') throw api.stranger()
      return { kind: line.outcome, audience: audienceOf(line.audience), left: line.left }
    },
  }
}

async function lastLine(
  records: AsyncIterable<ServiceRecord>,
  { listener, drained }: Pick<AudienceSyncRequest, 'listener' | 'drained'>,
  api: ServiceApi,
): Promise<LastLine> {
  for await (const record of records) {
    const line = record as ProgressLine
    switch (line.kind) {
      case 'rejected':
        listener.rejected(line)
        break
      case 'change':
        listener.changed([changeOf(line)])
        break
      case 'comparing':
        listener.comparing?.(line.members)
        break
      case 'progress':
        listener.progress(line)
        break
      case 'sync':
      case 'removal':
        return line
      case 'error':
        throw api.failed(line)
      default:
        throw api.stranger()
    }
    await drained?.()
  }
  throw api.brokenOff('its answer ended early')
}

function pathOf(key: string): string {
  return `v1/audiences/${encodeURIComponent(key)}`
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

/** Creates and reads regulations. */
export interface ChangedRegulations extends RegulationRecords {
  /** Returns the id of the new regulation. */
  create(request: RegulationRequest): Promise<string | UnknownSource>
}

/** Opens the audiences and regulations of a running service. Throws a refusal as an error, such as `sync_running`. */
export function remoteOperations(api: ServiceApi): {
  readonly audiences: AudienceOperations
  readonly regulations: ChangedRegulations
} {
  return { audiences: remoteAudiences(api), regulations: remoteRegulations(api) }
}

function remoteRegulations(api: ServiceApi): ChangedRegulations {
  return {
    create: async ({ type, userIds, sourceIds }) => {
      const query = { regulationType: type, subjectType: 'USER_ID', subjectIds: userIds }
      const body = { ...query, ...(sourceIds === null ? {} : { sources: sourceIds }) }
      return (await api.read('regulation', 'v1/regulations', body)).id
    },
    find: (id) => api.find('regulation', `v1/regulations/${encodeURIComponent(id)}`),
    list: async ({ limit, beforeId }) => {
      const path = `v1/regulations${queryText({ limit, before: beforeId })}`
      return (await api.read('regulations', path)).regulations
    },
  }
}

interface WhyAsked {
  /** Why the command cannot do the work itself, as the beginning of a sentence. */
  readonly because: string
  readonly hint: string
}

/** Explains why a command asks a service: the store is in memory. */
export const inMemory: WhyAsked = {
  because:
    'The store is in memory, so everything that a command does is lost when the command ends',
  hint: 'Start `evroute serve` with an admin API, or name a persistent store: --store sqlite:<file> or postgres://...',
}

/** Explains why a command asks a service: another process is delivering from the store. */
export function inUse(storeUrl: string): WhyAsked {
  return {
    because: `Another process is delivering from ${storeName(storeUrl)}`,
    hint: 'If it is a service, name its admin API with --api and --token. Otherwise, wait until it has ended.',
  }
}

/**
 * Connects to the running service of a configuration. Throws `store_in_use` if none is running; a SettingError if a
 * different program answers, or if the service refuses the token.
 */
export async function askConfiguredService(
  { admin }: Pick<Configuration, 'admin'>,
  { because, hint }: WhyAsked,
  stop: AbortSignal,
): Promise<ServiceApi> {
  const refuse = (why: string, cause?: unknown): EvrouteError =>
    new EvrouteError({ code: 'store_in_use', message: `${because}, ${why}`, hint, cause })
  if (admin === undefined) throw refuse('and the configuration has no admin API to ask')
  if (admin.port === 0)
    throw refuse('and the admin API of the configuration uses a random free port')
  if (admin.tls !== undefined)
    throw refuse('and the admin API of the configuration uses https, and its host name is unknown')
  // A service on all addresses also listens on loopback.
  const host = ['0.0.0.0', '::'].includes(admin.host) ? '127.0.0.1' : admin.host
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${admin.port}/`
  const api = new ServiceApi({ url, token: admin.token }, stop)
  try {
    await api.read('audiences', 'v1/audiences')
    return api
  } catch (error) {
    const isSilent = error instanceof EvrouteError && !(error instanceof SettingError)
    throw isSilent ? refuse(`and no service answers at ${url}`, error) : error
  }
}
