import type {
  AudienceOperations,
  AudienceRemoveOutcome,
  AudienceRemoveRequest,
  AudienceSyncOutcome,
  AudienceSyncRequest,
} from '../../src/admin-api/index.ts'
import type { Audience, Member, MembersRequest, SyncCounts } from '../../src/audience/index.ts'
import { nowMs } from '../cli/delivery-log/stores.ts'

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

type Sync = (
  request: AudienceSyncRequest,
  list: AsyncIterable<Uint8Array>,
) => Promise<AudienceSyncOutcome>
type Remove = (request: AudienceRemoveRequest) => Promise<AudienceRemoveOutcome>

/** What is known, and what is done when it is asked. */
export interface KnownAudiences {
  readonly audiences?: readonly Audience[]
  readonly members?: readonly Member[]
  readonly sync?: Sync
  readonly remove?: Remove
}

/** Audiences that note what they are asked. */
export function recordedAudiences(known: KnownAudiences = {}) {
  const membersAsked: MembersRequest[] = []
  const syncsAsked: AudienceSyncRequest[] = []
  const removalsAsked: AudienceRemoveRequest[] = []
  const operations: AudienceOperations = {
    list: () => Promise.resolve(known.audiences ?? [audience]),
    members: (request) => {
      membersAsked.push(request)
      const members = known.members ?? []
      const start = members.findIndex(({ identity }) => identity.userId === request.after?.userId)
      return Promise.resolve(members.slice(start + 1, start + 1 + request.limit))
    },
    sync: (request, list) => {
      syncsAsked.push(request)
      return (known.sync ?? (() => Promise.resolve(synced)))(request, list)
    },
    remove: (request) => {
      removalsAsked.push(request)
      const removed = { kind: 'removed', audience, left: 3 } as const
      return (known.remove ?? (() => Promise.resolve(removed)))(request)
    },
  }
  return { operations, membersAsked, syncsAsked, removalsAsked }
}

/** All of a list. */
export async function readWhole(list: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = []
  for await (const chunk of list) chunks.push(chunk)
  return Buffer.concat(chunks).toString('utf8')
}
