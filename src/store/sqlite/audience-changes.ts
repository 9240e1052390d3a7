import type {
  Audience,
  BeginSyncRequest,
  Member,
  MemberIdentity,
  MembershipChange,
  ReleaseRequest,
  SyncRequest,
  TakeOutcome,
  TakeRequest,
} from '../../audience/index.ts'
import type { ListedMembers, Sync } from '../audience-syncs.ts'
import { isOfSources } from '../source-scope.ts'
import { identityOf } from './audience-identity.ts'
import { audienceOf, type AudienceRow, type AudienceRows } from './audience-rows.ts'
import type { AudienceStatements } from './audience-statements.ts'
import type { DeliveryQueue } from './delivery-queue.ts'
import { fromStored, toStored } from './stored-text.ts'
import type { Suppressions } from './suppressions.ts'

/** What audiences are changed with. */
interface ChangeParts {
  readonly rows: AudienceRows
  readonly statements: AudienceStatements
  readonly queue: DeliveryQueue
  readonly suppressions: Pick<Suppressions, 'has'>
}

/** The audience of a sync, or the one that has its key. */
export interface FoundAudience {
  readonly kind: 'begun' | 'taken'
  readonly id: number
  readonly audience: Audience
}

/** What became of part of a list. */
export interface TakenPart {
  readonly outcomes: readonly TakeOutcome[]
  /** The numbers of the members that it names. */
  readonly listed: ReadonlySet<number>
}

/** Who left, and where to go on; null once nobody is left to look at. */
export interface ReleasedPart {
  readonly left: readonly MemberIdentity[]
  readonly next: MemberIdentity | null
}

/**
 * Changes members, and queues the calls of the changes with them; whoever calls it begins and ends
 * transactions, and does again what was rolled back.
 */
export class AudienceChanges {
  readonly #parts: ChangeParts

  constructor(parts: ChangeParts) {
    this.#parts = parts
  }

  /** Finds the audience of a sync, or makes it; changes nothing where its key is another's. */
  begin({ audience, nowMs }: BeginSyncRequest): FoundAudience {
    const { key, name, computationClass, sourceId } = audience
    const { statements } = this.#parts
    const row = this.#parts.rows.find(key)
    if (row === undefined) {
      statements.add(audience, nowMs)
    } else {
      const { id, class: itsClass, source_id: itsSource } = row
      const isOurs = itsClass === computationClass && fromStored(itsSource) === sourceId
      if (!isOurs) return { kind: 'taken', id, audience: audienceOf(row) }
      statements.rename(id, name)
    }
    const kept = this.#expect(key)
    return { kind: 'begun', id: kept.id, audience: audienceOf(kept) }
  }

  /** Takes part of a list in; undefined where the audience is gone. */
  take(request: TakeRequest, sync: Sync): TakenPart | undefined {
    const { statements } = this.#parts
    const audience = statements.audience(sync.audienceId)
    if (audience === undefined) return undefined
    const part = new ListPart(audience, { ...this.#parts, listedBefore: sync.listed })
    const outcomes = request.members.map((member) => part.take(member))
    statements.count(audience.id, part.entered)
    this.#send(part.changes, request)
    return { outcomes, listed: part.listed }
  }

  /** Lets some of those leave whom the list has not named; undefined where the audience is gone. */
  release(request: ReleaseRequest, sync: Sync): ReleasedPart | undefined {
    const { rows, statements, suppressions } = this.#parts
    const { after, rowsMax, nowMs } = request
    const audience = statements.audience(sync.audienceId)
    if (audience === undefined) return undefined
    const { id: audienceId } = audience
    const page = rows.page({ audienceId, after, rowsMax })
    const gone = page.filter(({ number }) => !sync.listed.has(number)).map(identityOf)
    const left = gone.filter((identity) => {
      statements.leave({ audienceId, identity })
      // Who is still there by another identifier has not left.
      return !statements.hasUser({ audienceId, identity })
    })
    statements.count(audienceId, -gone.length)
    const sourceId = fromStored(audience.source_id)
    const told = left.filter(({ userId }) => userId === null || !suppressions.has(sourceId, userId))
    this.#send(
      told.map((identity) => ({ identity, value: null })),
      request,
    )
    const last = page.at(-1)
    const next = last === undefined || page.length < rowsMax ? null : identityOf(last)
    if (next === null) statements.finish(audienceId, nowMs)
    return { left, next }
  }

  /** Forgets the audience with a key; false where there is none. */
  remove(key: string): boolean {
    const row = this.#parts.rows.find(key)
    if (row !== undefined) this.#parts.statements.forget(row.id)
    return row !== undefined
  }

  /**
   * Takes a user out of the audiences of some sources, or of all where those are null, and tells nobody.
   *
   * @returns how many members that were
   */
  eraseUser(userId: string, sourceIds: readonly string[] | null): number {
    const { statements } = this.#parts
    return statements
      .sources()
      .filter(({ source_id: sourceId }) => isOfSources(fromStored(sourceId), sourceIds))
      .reduce((erased, { id }) => erased + statements.eraseUser(id, userId), 0)
  }

  #expect(key: string): AudienceRow {
    const row = this.#parts.rows.find(key)
    if (row === undefined) throw new Error(`the audience ${key} is not where it was written`)
    return row
  }

  #send(changes: readonly MembershipChange[], request: SyncRequest): void {
    const { nowMs, seenSinceMs, eventsOf } = request
    const events = eventsOf(changes)
    this.#parts.queue.add({ nowMs, seenSinceMs, events, handOver: [] })
  }
}

/** Part of a list while it is taken in. */
class ListPart {
  readonly changes: MembershipChange[] = []
  readonly listed = new Set<number>()
  entered = 0
  readonly #audience: AudienceRow
  readonly #sourceId: string
  readonly #statements: AudienceStatements
  readonly #suppressions: Pick<Suppressions, 'has'>
  readonly #listedBefore: ListedMembers

  constructor(
    audience: AudienceRow,
    parts: {
      readonly statements: AudienceStatements
      readonly suppressions: Pick<Suppressions, 'has'>
      readonly listedBefore: ListedMembers
    },
  ) {
    this.#audience = audience
    this.#sourceId = fromStored(audience.source_id)
    this.#statements = parts.statements
    this.#suppressions = parts.suppressions
    this.#listedBefore = parts.listedBefore
  }

  /** Takes a line in. */
  take({ identity, value }: Member): TakeOutcome {
    const key = { audienceId: this.#audience.id, identity }
    const stored = toStored(value)
    const kept = this.#statements.member(key)
    const wasListed = kept !== undefined && this.#list(kept.number)
    if (this.#isSuppressed(identity)) return 'suppressed'
    if (kept === undefined) {
      const number = this.#audience.numbers + this.entered
      this.entered++
      this.listed.add(number)
      this.#statements.enter(key, { number, value: stored })
      this.changes.push({ identity, value })
      return 'entered'
    }
    if (kept.value === stored) return wasListed ? 'repeated' : 'unchanged'
    if (wasListed) return 'contradicted'
    this.#statements.change(key, stored)
    this.changes.push({ identity, value })
    return 'changed'
  }

  /** Lists a member; false when the list names it for the first time. */
  #list(number: number): boolean {
    if (this.listed.has(number) || this.#listedBefore.has(number)) return true
    this.listed.add(number)
    return false
  }

  #isSuppressed({ userId }: MemberIdentity): boolean {
    return userId !== null && this.#suppressions.has(this.#sourceId, userId)
  }
}
