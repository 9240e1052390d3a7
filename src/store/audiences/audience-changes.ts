import { isDeepStrictEqual } from 'node:util'
import type {
  BeginSyncRequest,
  Member,
  MemberIdentity,
  PlannedStep,
  ReleaseRequest,
  ReleaseResult,
  SyncRequest,
  TakeRequest,
} from '../../audience/index.ts'
import type { AddRequest } from '../../delivery/index.ts'
import { firstRow, raw, rowsOf, run, sql, type Dialect, type Script } from '../sql.ts'
import { fromStored, fromStoredRow, toStored, toStoredOrNull } from '../stored-text.ts'
import { isOfSources, isSuppressed, type SuppressedUsers } from '../suppressions.ts'
import {
  audienceColumns,
  findAudience,
  identityOf,
  keysOf,
  memberPage,
  userText,
  type AudienceRow,
  type MemberKeys,
} from './audience-rows.ts'
import { takePart, type KnownLine, type TakenPart } from './list-part.ts'
import { superseded, type Superseded, type Sync } from './syncs.ts'

/** The audience with the key of a sync. If `taken`, it is a different audience, so no sync began. */
export interface BegunAudience {
  readonly kind: 'begun' | 'taken'
  readonly row: AudienceRow
}

/** An audience that is locked until the transaction ends. */
interface HeldAudience {
  readonly id: number
  readonly source_id: string
  readonly numbers: number
}

interface KnownRow {
  readonly number: number | null
  readonly value: string | null
  readonly is_suppressed: unknown
}

interface UserRow {
  readonly is_suppressed: unknown
  readonly stays: unknown
}

/** Maximum number of members to remove in one transaction, so that it blocks others only for milliseconds. */
const removedAtOnce = 1_000

const keyColumns = { user_key: 'text', member_key: 'text' } as const
const userKey = raw('given.user_key')
const memberKey = raw('given.member_key')
const userId = raw('given.user_id')

/** Scripts that change members and add the calls about the changes. */
export class AudienceChanges {
  readonly #dialect: Dialect
  readonly #addEvents: (batch: AddRequest) => Script<void>

  constructor(dialect: Dialect, addEvents: (batch: AddRequest) => Script<void>) {
    this.#dialect = dialect
    this.#addEvents = addEvents
  }

  /** Finds or creates the audience of a sync; changes nothing if a different audience has its key. */
  *begin({ audience, nowMs }: BeginSyncRequest, sync: number): Script<BegunAudience> {
    const { key, name, computationClass, computationId, sourceId } = audience
    const upsert = sql`
      INSERT INTO evroute_audiences AS kept (key, name, class, computation_id, source_id, members,
        numbers, created_at, sync)
      VALUES (${toStored(key)}, ${toStored(name)}, ${computationClass}, ${toStored(computationId)},
        ${toStored(sourceId)}, 0, 0, ${nowMs}, ${sync})
      ON CONFLICT (key) DO UPDATE SET name = excluded.name, sync = excluded.sync
        WHERE kept.class = excluded.class AND kept.source_id = excluded.source_id
      RETURNING id, ${audienceColumns}`
    for (;;) {
      const row = yield* firstRow<AudienceRow>(upsert)
      if (row !== undefined) return { kind: 'begun', row: fromStoredRow(row) }
      const other = yield* findAudience(key)
      if (other !== undefined) return { kind: 'taken', row: other }
      // Another process removed the audience between the two statements. Try again.
    }
  }

  /** Takes part of a list. Changes nothing if the sync is over, or if the changes would differ from the plan. */
  *take(request: TakeRequest, sync: Sync): Script<TakenPart | PlannedStep | Superseded> {
    const audience = yield* this.#hold(sync)
    if (audience === undefined) return superseded
    const { members, plan } = request
    const keys = members.map(({ identity }) => keysOf(identity, this.#dialect))
    const part = takePart({
      members,
      known: yield* this.#knownLines(audience, members, keys),
      nextNumber: audience.numbers,
      wasListed: (number) => sync.listed.has(number),
    })
    const { changes } = part
    if (!isDeepStrictEqual(changes, plan.changes)) return { kind: 'planned', changes }
    yield* this.#write(audience, part, keys)
    yield* this.#send(request)
    return part
  }

  /** Removes those members of a page that the list did not name. Changes nothing in the same cases as `take`. */
  *release(request: ReleaseRequest, sync: Sync): Script<ReleaseResult | PlannedStep> {
    const audience = yield* this.#hold(sync)
    if (audience === undefined) return superseded
    const { after, rowsMax, nowMs, plan } = request
    const page = yield* memberPage({ audienceId: audience.id, after, rowsMax }, this.#dialect)
    const gone = page.filter(({ number }) => !sync.listed.has(number)).map(identityOf)
    const keys = gone.map((identity) => keysOf(identity, this.#dialect))
    const left = yield* this.#usersThatLeave(audience, gone)
    const changes = left
      .filter(({ isSuppressed }) => !isSuppressed)
      .map(({ identity }) => ({ identity, value: null }))
    if (!isDeepStrictEqual(changes, plan.changes)) return { kind: 'planned', changes }
    yield* this.#leave(audience, keys)
    yield* this.#send(request)
    const last = page.at(-1)
    const next = last === undefined || page.length < rowsMax ? null : identityOf(last)
    if (next === null) {
      yield* run(sql`UPDATE evroute_audiences SET synced_at = ${nowMs}, sync = NULL
        WHERE id = ${audience.id}`)
    }
    return { kind: 'released', left: left.map(({ identity }) => identity), next }
  }

  /**
   * Deletes up to 1,000 members of an audience, and ends its sync. Deletes the audience after its last member.
   * Returns `none` if no audience has the key, and `more` if members may be left.
   */
  *remove(key: string): Script<'none' | 'more' | 'removed'> {
    const row = yield* firstRow<{ readonly id: number }>(sql`
      SELECT id FROM evroute_audiences WHERE key = ${toStored(key)} ${this.#dialect.forUpdate}`)
    if (row === undefined) return 'none'
    const removed = yield* rowsOf(sql`
      DELETE FROM evroute_members WHERE audience_id = ${row.id} AND (user_key, member_key) IN (
        SELECT user_key, member_key FROM evroute_members WHERE audience_id = ${row.id}
        ORDER BY user_key, member_key LIMIT ${removedAtOnce}) RETURNING 1`)
    yield* run(sql`UPDATE evroute_audiences SET members = members - ${removed.length}, sync = NULL
      WHERE id = ${row.id}`)
    if (removed.length === removedAtOnce) return 'more'
    yield* run(sql`DELETE FROM evroute_audiences WHERE id = ${row.id}`)
    return 'removed'
  }

  /**
   * Locks the audience of a sync until the transaction ends; undefined if the sync is over. Wait for this lock before
   * you use `Dialect.gate`, because the gate delays regulations.
   */
  #hold(sync: Sync): Script<HeldAudience | undefined> {
    return firstRow<HeldAudience>(sql`SELECT id, source_id, numbers FROM evroute_audiences
      WHERE id = ${sync.audienceId} AND sync = ${sync.number} ${this.#dialect.forUpdate}`)
  }

  *#knownLines(
    audience: HeldAudience,
    members: readonly Member[],
    keys: readonly MemberKeys[],
  ): Script<readonly KnownLine[]> {
    const { key, gate, given } = this.#dialect
    const lines = members.map(({ identity }, index) => ({
      ...keys[index],
      user_id: toStoredOrNull(identity.userId),
    }))
    const ofLine = sql`FROM evroute_members WHERE audience_id = ${audience.id}
      AND user_key = ${key(userKey)} AND member_key = ${key(memberKey)}`
    // Look up each member separately: PostgreSQL's planner does not know how many members an audience has.
    const rows = yield* rowsOf<KnownRow>(sql`
      WITH ${gate}
      SELECT (SELECT number ${ofLine}) AS number, (SELECT value ${ofLine}) AS value,
        ${isSuppressed(sql`CAST(${audience.source_id} AS text)`, userId)} AS is_suppressed
      FROM ${given(lines, { ...keyColumns, user_id: 'text' })} ORDER BY given.position`)
    return rows.map(({ number, value, is_suppressed: isDropped }, index) => ({
      kept: number === null || value === null ? undefined : { number, value },
      isSuppressed: Boolean(isDropped),
      key: keys[index]?.member_key ?? '',
    }))
  }

  *#write(
    { id }: HeldAudience,
    { written, entered }: TakenPart,
    keys: readonly MemberKeys[],
  ): Script<void> {
    if (written.length === 0) return
    const { key, given } = this.#dialect
    const rows = written.map(({ member: { identity }, index, number, value }) => ({
      ...keys[index],
      user_id: toStoredOrNull(identity.userId),
      anonymous_id: toStoredOrNull(identity.anonymousId),
      email: toStoredOrNull(identity.email),
      number,
      value,
    }))
    const texts = { user_id: 'text', anonymous_id: 'text', email: 'text', value: 'text' } as const
    yield* run(sql`
      INSERT INTO evroute_members (audience_id, user_key, member_key, user_id, anonymous_id, email,
        number, value)
      SELECT ${id}, ${key(userKey)}, ${key(memberKey)}, user_id, anonymous_id, email, number, value
      FROM ${given(rows, { ...keyColumns, ...texts, number: 'bigint' })} WHERE true
      ON CONFLICT (audience_id, user_key, member_key) DO UPDATE SET value = excluded.value`)
    yield* run(sql`UPDATE evroute_audiences SET members = members + ${entered},
      numbers = numbers + ${entered} WHERE id = ${id}`)
  }

  /** Deletes members. Pass their keys in order: the statement reads only rows from the first to the last. */
  *#leave(audience: HeldAudience, keys: readonly MemberKeys[]): Script<void> {
    const [first, last] = [keys[0], keys.at(-1)]
    if (first === undefined || last === undefined) return
    const { key, given } = this.#dialect
    const pair = (keys: MemberKeys) =>
      sql`(${key(sql`${keys.user_key}`)}, ${key(sql`${keys.member_key}`)})`
    yield* run(sql`
      DELETE FROM evroute_members WHERE audience_id = ${audience.id}
        AND (user_key, member_key) >= ${pair(first)} AND (user_key, member_key) <= ${pair(last)}
        AND (user_key, member_key) IN (
          SELECT ${key(userKey)}, ${key(memberKey)} FROM ${given(keys, keyColumns)})`)
    yield* countLeft(audience.id, keys.length)
  }

  /** Finds the users whose identities in the audience are all in `gone`. Returns the last identity of each. */
  *#usersThatLeave(
    audience: HeldAudience,
    gone: readonly MemberIdentity[],
  ): Script<readonly { readonly identity: MemberIdentity; readonly isSuppressed: boolean }[]> {
    const users = new Map<string, { readonly last: MemberIdentity; readonly identifiers: number }>()
    for (const last of gone) {
      const { user_key } = keysOf(last, this.#dialect)
      users.set(user_key, { last, identifiers: (users.get(user_key)?.identifiers ?? 0) + 1 })
    }
    if (users.size === 0) return []
    const { key, gate, given } = this.#dialect
    const rows = Array.from(users, ([user_key, { last, identifiers }]) => ({
      user_key,
      user_id: toStoredOrNull(last.userId),
      identifiers,
    }))
    // Stop counting a user's identities early: there may be any number of them.
    const found = yield* rowsOf<UserRow>(sql`
      WITH ${gate}
      SELECT ${isSuppressed(sql`CAST(${audience.source_id} AS text)`, userId)} AS is_suppressed,
        (SELECT count(*) FROM (SELECT 1 FROM evroute_members
          WHERE audience_id = ${audience.id} AND user_key = ${key(userKey)}
          LIMIT ${gone.length + 1}) AS counted) > given.identifiers AS stays
      FROM ${given(rows, { user_key: 'text', user_id: 'text', identifiers: 'bigint' })}
      ORDER BY given.position`)
    return [...users.values()].flatMap(({ last: identity }, index) =>
      Boolean(found[index]?.stays)
        ? []
        : [{ identity, isSuppressed: Boolean(found[index]?.is_suppressed) }],
    )
  }

  *#send({ nowMs, seenSinceMs, plan }: SyncRequest): Script<void> {
    yield* this.#addEvents({ nowMs, seenSinceMs, events: plan.events, handOver: [] })
  }
}

/** Removes users from the audiences of some sources, without sending calls. Returns how many members were removed. */
export function* eraseMembers(
  { userIds, sourceIds }: SuppressedUsers,
  { forUpdate, given, isOneOf, key, keyOf }: Dialect,
): Script<number> {
  const audiences = yield* rowsOf<{ readonly id: number; readonly source_id: string }>(
    sql`SELECT id, source_id FROM evroute_audiences`,
  )
  const wanted = audiences.filter((row) => isOfSources(fromStored(row.source_id), sourceIds))
  if (wanted.length === 0 || userIds.length === 0) return 0
  const ids = sql`SELECT given.id FROM ${given(wanted, { id: 'bigint' })}`
  // Lock the audiences, so that no sync adds one of these users until the transaction ends.
  yield* run(
    sql`SELECT id FROM evroute_audiences WHERE ${isOneOf('id', ids)} ORDER BY id ${forUpdate}`,
  )
  const keys = userIds.map((id) => ({
    user_key: keyOf(userText({ userId: id, anonymousId: null })),
  }))
  const users = sql`SELECT ${key(userKey)} FROM ${given(keys, { user_key: 'text' })}`
  const gone = yield* rowsOf<{ readonly audience_id: number }>(sql`
    DELETE FROM evroute_members
    WHERE ${isOneOf('audience_id', ids)} AND ${isOneOf('user_key', users)} RETURNING audience_id`)
  const counts = new Map<number, number>()
  for (const { audience_id: id } of gone) counts.set(id, (counts.get(id) ?? 0) + 1)
  for (const [id, count] of counts) yield* countLeft(id, count)
  return gone.length
}

function countLeft(audienceId: number, count: number): Script<void> {
  return run(
    sql`UPDATE evroute_audiences SET members = members - ${count} WHERE id = ${audienceId}`,
  )
}
