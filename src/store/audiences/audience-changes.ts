import type {
  BeginSyncRequest,
  Member,
  MemberIdentity,
  MembershipChange,
  ReleaseRequest,
  SyncRequest,
  TakeRequest,
} from '../../audience/index.ts'
import type { AddRequest } from '../../delivery/index.ts'
import { firstRow, givenRows, rowsOf, run, type Dialect, type Script } from '../sql.ts'
import { toStored, toStoredOrNull } from '../stored-text.ts'
import { isSuppressed } from '../suppressions.ts'
import {
  audienceColumns,
  findAudience,
  identityOf,
  keysOf,
  memberPage,
  type AudienceRow,
  type MemberKeys,
} from './audience-rows.ts'
import { takePart, type KnownLine, type TakenPart } from './list-part.ts'
import type { Sync } from './syncs.ts'

/** The members that left, and the member after which to continue; null once every member was checked. */
export interface ReleasedPart {
  readonly left: readonly MemberIdentity[]
  readonly next: MemberIdentity | null
  /** The number of calls that were written. */
  readonly calls: number
}

/** The audience of a sync that began, or the audience that already has its key. */
export interface BegunAudience {
  readonly kind: 'begun' | 'taken'
  readonly row: AudienceRow
}

/** The parts of {@link AudienceChanges}. */
interface ChangeParts {
  readonly dialect: Dialect
  /** Adds events with their deliveries. */
  readonly addEvents: (batch: AddRequest) => Script<void>
}

interface KnownRow {
  readonly number: number | null
  readonly value: string | null
  readonly is_suppressed: unknown
}

interface UserRow {
  readonly is_suppressed: unknown
  readonly is_member: unknown
}

const keyColumns = { user_key: 'text', member_key: 'text' } as const
const userColumns = { user_key: 'text', user_id: 'text' } as const
const memberColumns = {
  ...keyColumns,
  user_id: 'text',
  anonymous_id: 'text',
  email: 'text',
  number: 'bigint',
  value: 'text',
} as const

/**
 * Scripts that change members and write the calls for those changes. They look members up one by one,
 * because the planner does not know how many members an audience has.
 */
export class AudienceChanges {
  readonly #dialect: Dialect
  readonly #addEvents: ChangeParts['addEvents']

  constructor({ dialect, addEvents }: ChangeParts) {
    this.#dialect = dialect
    this.#addEvents = addEvents
  }

  /** Finds or makes the audience of a sync; changes nothing if its key belongs to a different one. */
  *begin({ audience, nowMs }: BeginSyncRequest, sync: number): Script<BegunAudience> {
    const { key, name, computationClass, computationId, sourceId } = audience
    const sql = `
      INSERT INTO evroute_audiences AS kept (key, name, class, computation_id, source_id, members,
        numbers, created_at, sync)
      VALUES ($1, $2, $3, $4, $5, 0, 0, $6, $7)
      ON CONFLICT (key) DO UPDATE SET name = excluded.name, sync = excluded.sync
        WHERE kept.class = excluded.class AND kept.source_id = excluded.source_id
      RETURNING ${audienceColumns}`
    const names = [toStored(key), toStored(name), computationClass]
    const values = [...names, toStored(computationId), toStored(sourceId), nowMs, sync]
    for (;;) {
      const row = yield* firstRow<AudienceRow>({ name: 'begin_sync', sql, values })
      if (row !== undefined) return { kind: 'begun', row }
      const other = yield* findAudience(key)
      if (other !== undefined) return { kind: 'taken', row: other }
      // Another process removed the audience in between, so try again.
    }
  }

  /** Syncs a part of a list; undefined if the sync is over. */
  *take(request: TakeRequest, sync: Sync): Script<TakenPart | undefined> {
    const audience = yield* this.#hold(sync)
    if (audience === undefined) return undefined
    const { members } = request
    const keys = members.map(({ identity }) => keysOf(identity, this.#dialect))
    const part = takePart({
      members,
      known: yield* this.#knownLines(audience, members, keys),
      nextNumber: audience.numbers,
      wasListed: (number) => sync.listed.has(number),
    })
    yield* this.#write(audience, part, keys)
    yield* this.#send(part.changes, request)
    return part
  }

  /** Removes some members that the list did not name; undefined if the sync is over. */
  *release(request: ReleaseRequest, sync: Sync): Script<ReleasedPart | undefined> {
    const audience = yield* this.#hold(sync)
    if (audience === undefined) return undefined
    const { after, rowsMax, nowMs } = request
    const page = yield* memberPage({ audienceId: audience.id, after, rowsMax }, this.#dialect)
    const gone = page.filter(({ number }) => !sync.listed.has(number)).map(identityOf)
    const keys = gone.map((identity) => keysOf(identity, this.#dialect))
    yield* this.#leave(audience, keys)
    const users = yield* this.#usersOf(audience, lastOfUsers(gone, keys))
    // A user who is still a member under a different identifier has not left.
    const left = users.filter(({ isMember }) => !isMember)
    const called = left.filter((user) => !user.isSuppressed)
    const changes = called.map(({ identity }) => ({ identity, value: null }))
    yield* this.#send(changes, request)
    const last = page.at(-1)
    const next = last === undefined || page.length < rowsMax ? null : identityOf(last)
    if (next === null) {
      const sql = 'UPDATE evroute_audiences SET synced_at = $2, sync = NULL WHERE id = $1'
      yield* run({ name: 'finish_sync', sql, values: [audience.id, nowMs] })
    }
    return { left: left.map(({ identity }) => identity), next, calls: changes.length }
  }

  /** Deletes the audience with a key, and its members; false if there is none. */
  *remove(key: string): Script<boolean> {
    const sql = 'DELETE FROM evroute_audiences WHERE key = $1 RETURNING id'
    const row = yield* firstRow<{ readonly id: number }>({ sql, values: [toStored(key)] })
    if (row === undefined) return false
    yield* run({ sql: 'DELETE FROM evroute_members WHERE audience_id = $1', values: [row.id] })
    return true
  }

  /**
   * Locks the audience of a sync until the end of the transaction. The transaction takes the gate afterwards,
   * so that a sync that waits for an audience does not delay a regulation.
   */
  #hold(sync: Sync): Script<AudienceRow | undefined> {
    const sql = `SELECT ${audienceColumns} FROM evroute_audiences
      WHERE id = $1 AND sync = $2 ${this.#dialect.forUpdate}`
    const values = [sync.audienceId, sync.number]
    return firstRow<AudienceRow>({ name: 'hold_audience', sql, values })
  }

  *#knownLines(
    audience: AudienceRow,
    members: readonly Member[],
    keys: readonly MemberKeys[],
  ): Script<readonly KnownLine[]> {
    const { key, gate, given } = this.#dialect
    const kept = (column: string): string => `(SELECT ${column} FROM evroute_members
      WHERE audience_id = $1 AND user_key = ${key('given.user_key')}
        AND member_key = ${key('given.member_key')}) AS ${column}`
    const sql = `
      WITH ${gate}
      SELECT ${kept('number')}, ${kept('value')},
        ${isSuppressed('CAST($3 AS text)', 'given.user_id')} AS is_suppressed
      FROM ${given('$2', { ...keyColumns, user_id: 'text' })} ORDER BY given.place`
    const lines = members.map(({ identity }, place) => ({
      ...keys[place],
      user_id: toStoredOrNull(identity.userId),
    }))
    const values = [audience.id, givenRows(lines), audience.source_id]
    const rows = yield* rowsOf<KnownRow>({ name: 'known_members', sql, values })
    return rows.map(({ number, value, is_suppressed: isDropped }, place) => ({
      kept: number === null || value === null ? undefined : { number, value },
      isSuppressed: Boolean(isDropped),
      key: keys[place]?.member_key ?? '',
    }))
  }

  *#write(
    audience: AudienceRow,
    { written, entered }: TakenPart,
    keys: readonly MemberKeys[],
  ): Script<void> {
    if (written.length === 0) return
    const { key, given } = this.#dialect
    const sql = `
      INSERT INTO evroute_members (audience_id, user_key, member_key, user_id, anonymous_id, email,
        number, value)
      SELECT $1, ${key('user_key')}, ${key('member_key')}, user_id, anonymous_id, email, number, value
      FROM ${given('$2', memberColumns)} WHERE true
      ON CONFLICT (audience_id, user_key, member_key) DO UPDATE SET value = excluded.value`
    const rows = written.map(({ member: { identity }, place, number, value }) => ({
      ...keys[place],
      user_id: toStoredOrNull(identity.userId),
      anonymous_id: toStoredOrNull(identity.anonymousId),
      email: toStoredOrNull(identity.email),
      number,
      value,
    }))
    yield* run({ name: 'write_members', sql, values: [audience.id, givenRows(rows)] })
    const count = `UPDATE evroute_audiences SET members = members + $2, numbers = numbers + $3
      WHERE id = $1`
    yield* run({ name: 'count_members', sql: count, values: [audience.id, entered, entered] })
  }

  /** @param keys - the keys in order; the statement reads only rows between the first and the last */
  *#leave(audience: AudienceRow, keys: readonly MemberKeys[]): Script<void> {
    const [first, last] = [keys[0], keys.at(-1)]
    if (first === undefined || last === undefined) return
    const { key, given } = this.#dialect
    const sql = `
      DELETE FROM evroute_members WHERE audience_id = $1
        AND (user_key, member_key) >= (${key('$3')}, ${key('$4')})
        AND (user_key, member_key) <= (${key('$5')}, ${key('$6')})
        AND (user_key, member_key) IN (
          SELECT ${key('given.user_key')}, ${key('given.member_key')} FROM ${given('$2', keyColumns)})`
    const range = [first.user_key, first.member_key, last.user_key, last.member_key]
    yield* run({ name: 'leave', sql, values: [audience.id, givenRows(keys), ...range] })
    const count = 'UPDATE evroute_audiences SET members = members - $2 WHERE id = $1'
    yield* run({ name: 'count_left', sql: count, values: [audience.id, keys.length] })
  }

  /** Finds for each user whether its calls are dropped, and whether it has another member. */
  *#usersOf(
    audience: AudienceRow,
    identities: readonly MemberIdentity[],
  ): Script<readonly KnownUser[]> {
    if (identities.length === 0) return []
    const { key, gate, given } = this.#dialect
    const sql = `
      WITH ${gate}
      SELECT ${isSuppressed('CAST($3 AS text)', 'given.user_id')} AS is_suppressed,
        (SELECT 1 FROM evroute_members
          WHERE audience_id = $1 AND user_key = ${key('given.user_key')} LIMIT 1) AS is_member
      FROM ${given('$2', userColumns)} ORDER BY given.place`
    const users = identities.map((identity) => ({
      user_key: keysOf(identity, this.#dialect).user_key,
      user_id: toStoredOrNull(identity.userId),
    }))
    const values = [audience.id, givenRows(users), audience.source_id]
    const rows = yield* rowsOf<UserRow>({ name: 'users_of_members', sql, values })
    return identities.map((identity, place) => ({
      identity,
      isMember: Boolean(rows[place]?.is_member),
      isSuppressed: Boolean(rows[place]?.is_suppressed),
    }))
  }

  *#send(changes: readonly MembershipChange[], request: SyncRequest): Script<void> {
    const { nowMs, seenSinceMs, eventsOf } = request
    const events = eventsOf(changes)
    yield* this.#addEvents({ nowMs, seenSinceMs, events, handOver: [] })
  }
}

/** A user who may have left. */
interface KnownUser {
  /** The last of its identifiers that left. */
  readonly identity: MemberIdentity
  readonly isMember: boolean
  readonly isSuppressed: boolean
}

/** Returns the last identifier of each user. In key order, the identifiers of a user are consecutive. */
function lastOfUsers(
  identities: readonly MemberIdentity[],
  keys: readonly MemberKeys[],
): readonly MemberIdentity[] {
  return identities.filter((_, place) => keys[place]?.user_key !== keys[place + 1]?.user_key)
}
