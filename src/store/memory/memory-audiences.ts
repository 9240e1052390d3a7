import type {
  Audience,
  AudienceStore,
  BeginSyncRequest,
  BeginSyncResult,
  Member,
  MembershipChange,
  MembersRequest,
  NewAudience,
  ReleaseRequest,
  ReleaseResult,
  SyncRequest,
  TakeOutcome,
  TakeRequest,
  TakeResult,
} from '../../audience/index.ts'
import type { AddRequest } from '../../delivery/index.ts'
import { isOfSources } from '../source-scope.ts'
import type { SuppressedUsers } from '../suppressed-event.ts'
import { AudienceMembers, memberKey, type KeptMember } from './audience-members.ts'

/** What audiences need of their store. */
interface StoreParts {
  /** Resolves later, as every method does; rejects once the store is closed. */
  readonly open: () => Promise<void>
  /** Takes events in at once, however full the store is; all or nothing. */
  readonly add: (batch: AddRequest) => unknown
  /** Whose calls are dropped. */
  readonly suppressions: SuppressedUsers
}

interface KeptAudience extends NewAudience {
  readonly createdAtMs: number
  readonly members: AudienceMembers
  name: string
  syncedAtMs: number | null
  /** The sync that goes on; undefined when none does. */
  sync: number | undefined
}

const superseded = Object.freeze({ kind: 'superseded' as const })

/** Keeps audiences in memory. */
export class MemoryAudiences implements AudienceStore {
  readonly #parts: StoreParts
  readonly #byKey = new Map<string, KeptAudience>()
  #syncsBegun = 0

  constructor(parts: StoreParts) {
    this.#parts = parts
  }

  async begin({ audience, nowMs }: BeginSyncRequest): Promise<BeginSyncResult> {
    await this.#parts.open()
    const kept = this.#byKey.get(audience.key) ?? newAudience(audience, nowMs)
    const { computationClass, sourceId } = audience
    const isOurs = kept.computationClass === computationClass && kept.sourceId === sourceId
    if (!isOurs) return { kind: 'taken', audience: audienceOf(kept) }
    this.#byKey.set(audience.key, kept)
    this.#syncsBegun++
    kept.name = audience.name
    kept.sync = this.#syncsBegun
    return { kind: 'begun', audience: audienceOf(kept), sync: kept.sync }
  }

  async take(request: TakeRequest): Promise<TakeResult> {
    await this.#parts.open()
    const audience = this.#inSync(request)
    if (audience === undefined) return superseded
    const planned = new Map<string, KeptMember>()
    const changes: MembershipChange[] = []
    const outcomes = request.members.map((member): TakeOutcome => {
      const key = memberKey(member.identity)
      const before = planned.get(key) ?? audience.members.get(key)
      const outcome = this.#outcomeOf(member, before, audience)
      const { identity, value } = isNews(outcome) ? member : (before ?? member)
      if (isNews(outcome)) changes.push({ identity, value })
      if (isNews(outcome) || before !== undefined) {
        planned.set(key, { identity, value, listedBy: request.sync })
      }
      return outcome
    })
    this.#send(changes, request)
    for (const [key, member] of planned) audience.members.set(key, member)
    return { kind: 'taken', outcomes }
  }

  async release(request: ReleaseRequest): Promise<ReleaseResult> {
    await this.#parts.open()
    const audience = this.#inSync(request)
    if (audience === undefined) return superseded
    const { after, rowsMax, nowMs } = request
    const page = audience.members.page({ after, limit: rowsMax })
    const gone = page
      .filter(({ listedBy }) => listedBy !== request.sync)
      .map(({ identity }) => identity)
    const left = audience.members.usersWithout(gone)
    const told = left.filter(({ userId }) => !this.#isSuppressed(audience, userId))
    this.#send(
      told.map((identity) => ({ identity, value: null })),
      request,
    )
    for (const identity of gone) audience.members.delete(memberKey(identity))
    const last = page.at(-1)
    const next = last === undefined || page.length < rowsMax ? null : last.identity
    if (next === null) Object.assign(audience, { sync: undefined, syncedAtMs: nowMs })
    return { kind: 'released', left, next }
  }

  async remove({ key }: { readonly key: string }): Promise<boolean> {
    await this.#parts.open()
    return this.#byKey.delete(key)
  }

  async list(): Promise<readonly Audience[]> {
    await this.#parts.open()
    const audiences = [...this.#byKey.values()].map(audienceOf)
    return audiences.sort((a, b) => (a.key < b.key ? -1 : 1))
  }

  async members({ key, ...page }: MembersRequest): Promise<readonly Member[]> {
    await this.#parts.open()
    const members = this.#byKey.get(key)?.members.page(page) ?? []
    return members.map(({ identity, value }) => ({ identity, value }))
  }

  /**
   * Takes a user out of the audiences of some sources, or of all where those are null, and tells nobody.
   *
   * @returns how many members that were
   */
  eraseUser(userId: string, sourceIds: readonly string[] | null): number {
    return [...this.#byKey.values()]
      .filter(({ sourceId }) => isOfSources(sourceId, sourceIds))
      .reduce((erased, { members }) => erased + members.eraseUser(userId), 0)
  }

  #inSync({ key, sync }: SyncRequest): KeptAudience | undefined {
    const audience = this.#byKey.get(key)
    return audience?.sync === sync ? audience : undefined
  }

  #outcomeOf(
    { identity, value }: Member,
    before: KeptMember | undefined,
    audience: KeptAudience,
  ): TakeOutcome {
    if (this.#isSuppressed(audience, identity.userId)) return 'suppressed'
    if (before === undefined) return 'entered'
    const wasListed = before.listedBy === audience.sync
    if (before.value === value) return wasListed ? 'repeated' : 'unchanged'
    return wasListed ? 'contradicted' : 'changed'
  }

  #isSuppressed({ sourceId }: KeptAudience, userId: string | null): boolean {
    return userId !== null && this.#parts.suppressions.has(sourceId, userId)
  }

  #send(changes: readonly MembershipChange[], request: SyncRequest): void {
    const { nowMs, seenSinceMs, eventsOf } = request
    const events = eventsOf(changes)
    this.#parts.add({ nowMs, seenSinceMs, events, handOver: [] })
  }
}

/** Tells whether destinations are told of it. */
function isNews(outcome: TakeOutcome): boolean {
  return outcome === 'entered' || outcome === 'changed'
}

function newAudience(audience: NewAudience, nowMs: number): KeptAudience {
  const members = new AudienceMembers()
  return { ...audience, createdAtMs: nowMs, members, syncedAtMs: null, sync: undefined }
}

function audienceOf(kept: KeptAudience): Audience {
  const { key, name, computationClass, computationId, sourceId } = kept
  const { createdAtMs, syncedAtMs } = kept
  const identity = { key, name, computationClass, computationId, sourceId }
  return { ...identity, members: kept.members.size, createdAtMs, syncedAtMs }
}
