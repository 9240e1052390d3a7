import { expect } from 'vitest'
import type {
  AudienceOperations,
  AudienceRemoveOutcome,
  AudienceRemoveRequest,
  AudienceSyncOutcome,
  AudienceSyncRequest,
} from '../../src/admin-api/index.ts'
import type {
  Audience,
  Member,
  MembershipChange,
  MembersRequest,
  SyncCounts,
} from '../../src/audience/index.ts'
import { nowMs } from '../cli/deliveries/stores.ts'
import { sendRequest, startAdmin, type AdminSettings, type RequestOptions } from './support.ts'

export const audience: Audience = {
  key: 'big_spenders',
  name: 'Big Spenders',
  computationClass: 'audience',
  computationId: 'aud_1',
  sourceId: 'website',
  members: 3,
  createdAtMs: nowMs,
  syncedAtMs: null,
}

export const counts: SyncCounts = {
  read: 7,
  rejected: 1,
  entered: 2,
  changed: 1,
  left: 4,
  unchanged: 2,
  suppressed: 1,
}

export const synced = { kind: 'synced', audience, counts } as const

/** A rejected row. */
export const row = { line: 1, code: 'invalid_json', message: 'The row is not valid JSON' }

/** One member enters and one leaves. */
export const changes: readonly MembershipChange[] = [
  { identity: { userId: 'u_1', anonymousId: null, email: 'ann@example.com' }, value: '"gold"' },
  { identity: { userId: null, anonymousId: 'a_1', email: null }, value: null },
]

type Sync = (
  request: AudienceSyncRequest,
  list: AsyncIterable<Uint8Array>,
) => Promise<AudienceSyncOutcome>
type Remove = (request: AudienceRemoveRequest) => Promise<AudienceRemoveOutcome>

/** The existing audiences and members, and what the operations return. */
export interface KnownAudiences {
  readonly audiences?: readonly Audience[]
  readonly members?: readonly Member[]
  readonly sync?: Sync
  readonly remove?: Remove
}

/** Audiences that record the calls they get. */
export function recordedAudiences(known: KnownAudiences = {}) {
  const membersRequests: MembersRequest[] = []
  const syncRequests: AudienceSyncRequest[] = []
  const removalRequests: AudienceRemoveRequest[] = []
  const operations: AudienceOperations = {
    list: () => Promise.resolve(known.audiences ?? [audience]),
    members: (request) => {
      membersRequests.push(request)
      const members = known.members ?? []
      const start = members.findIndex(({ identity }) => identity.userId === request.after?.userId)
      return Promise.resolve(members.slice(start + 1, start + 1 + request.limit))
    },
    sync: (request, list) => {
      syncRequests.push(request)
      return (known.sync ?? (() => Promise.resolve(synced)))(request, list)
    },
    remove: (request) => {
      removalRequests.push(request)
      const removed = { kind: 'removed', audience, left: 3 } as const
      return (known.remove ?? (() => Promise.resolve(removed)))(request)
    },
  }
  return { operations, membersRequests, syncRequests, removalRequests }
}

/** Reads a list to its end. */
export async function readWhole(list: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = []
  for await (const chunk of list) chunks.push(chunk)
  return Buffer.concat(chunks).toString('utf8')
}

/** An admin API with these audiences. */
export async function startAudiences(known: KnownAudiences = {}, settings: AdminSettings = {}) {
  const recorded = recordedAudiences(known)
  const admin = await startAdmin({ ...settings, options: { audiences: recorded.operations } })
  return { ...admin, ...recorded }
}

/** The lines of a streamed response. */
export async function linesOf(
  url: string,
  request: RequestOptions = { method: 'POST', body: 'u_1\n' },
) {
  const { status, headers, text } = await sendRequest(url, request)
  expect({ status, type: headers['content-type'] }).toEqual({
    status: 200,
    type: 'application/x-ndjson',
  })
  expect(headers).toMatchObject({
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  })
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as object)
}
