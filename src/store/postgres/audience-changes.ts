import type {
  Member,
  MemberIdentity,
  MembershipChange,
  ReleaseRequest,
  SyncRequest,
  TakeRequest,
} from '../../audience/index.ts'
import type { Sync } from '../audience-syncs.ts'
import { toStoredOrNull } from '../stored-text.ts'
import { identityOf, memberKey, userKey } from './audience-identity.ts'
import { takePart, type KnownLine, type TakenPart, type WrittenMember } from './audience-part.ts'
import { audienceColumns, memberPage, type AudienceRow } from './audience-rows.ts'
import type { Session } from './database.ts'
import type { DeliveryQueue } from './delivery-queue.ts'
import { holdGate, isSuppressed } from './suppressions.ts'

/** Who left, and where to go on; null once nobody is left to look at. */
export interface ReleasedPart {
  readonly left: readonly MemberIdentity[]
  readonly next: MemberIdentity | null
  /** How many calls were written. */
  readonly calls: number
}

interface KnownRow {
  readonly number: number | null
  readonly value: string | null
  readonly is_suppressed: boolean
}

interface UserRow {
  readonly is_suppressed: boolean
  readonly is_member: boolean
}

/**
 * Holds the audience of a sync until the end of the transaction; nothing where the sync is over. The gate
 * comes later: who waits for an audience holds up nobody who stores a regulation.
 */
const holdSql = `
  SELECT ${audienceColumns} FROM evroute_audiences WHERE id = $1 AND sync = $2 FOR UPDATE`

/** Looked up one by one: how many members an audience has is nothing that a planner knows. */
const knownSql = `
  WITH ${holdGate}
  SELECT member.number, member.value, ${isSuppressed('$5::text', ['given.user_id'])} AS is_suppressed
  FROM unnest($2::text[], $3::text[], $4::text[])
    WITH ORDINALITY AS given (user_key, member_key, user_id, place)
  LEFT JOIN LATERAL (
    SELECT number, value FROM evroute_members
    WHERE audience_id = $1 AND user_key = decode(given.user_key, 'hex')
      AND member_key = decode(given.member_key, 'hex') LIMIT 1) member ON true
  ORDER BY given.place`

const writeSql = `
  WITH counted AS (
    UPDATE evroute_audiences SET members = members + $2, numbers = numbers + $2
    WHERE id = $1 AND $2 > 0
  )
  INSERT INTO evroute_members (audience_id, user_key, member_key, user_id, anonymous_id, email, number,
    value)
  SELECT $1, decode(user_key, 'hex'), decode(member_key, 'hex'), user_id, anonymous_id, email, number,
    value
  FROM unnest($3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::bigint[], $9::text[])
    AS given (user_key, member_key, user_id, anonymous_id, email, number, value)
  ON CONFLICT (audience_id, user_key, member_key) DO UPDATE SET value = excluded.value`

/** Of some users: whether their calls are dropped, and whether any member is left that they are. */
const usersSql = `
  WITH ${holdGate}
  SELECT ${isSuppressed('$4::text', ['given.user_id'])} AS is_suppressed,
    coalesce((SELECT true FROM evroute_members
      WHERE audience_id = $1 AND user_key = decode(given.user_key, 'hex') LIMIT 1), false) AS is_member
  FROM unnest($2::text[], $3::text[]) WITH ORDINALITY AS given (user_key, user_id, place)
  ORDER BY given.place`

/** They are between two members: whatever the planner does, it reads no others. */
const leaveSql = `
  WITH counted AS (
    UPDATE evroute_audiences SET members = members - cardinality($2::text[]) WHERE id = $1
  )
  DELETE FROM evroute_members member
  USING unnest($2::text[], $3::text[]) AS given (user_key, member_key)
  WHERE audience_id = $1 AND member.user_key = decode(given.user_key, 'hex')
    AND member.member_key = decode(given.member_key, 'hex')
    AND (member.user_key, member.member_key) >= (decode($4, 'hex'), decode($5, 'hex'))
    AND (member.user_key, member.member_key) <= (decode($6, 'hex'), decode($7, 'hex'))`

/**
 * Changes members, and writes the calls of the changes with them; whoever calls it begins and ends
 * transactions, and does again what came to nothing.
 */
export class AudienceChanges {
  readonly #queue: DeliveryQueue

  constructor(queue: DeliveryQueue) {
    this.#queue = queue
  }

  /** Takes part of a list in; undefined where the sync is over. */
  async take(session: Session, request: TakeRequest, sync: Sync): Promise<TakenPart | undefined> {
    const audience = await hold(session, sync)
    if (audience === undefined) return undefined
    const { members } = request
    const part = takePart({
      members,
      known: await knownLines(session, audience, members),
      nextNumber: audience.numbers,
      wasListed: (number) => sync.listed.has(number),
    })
    if (part.written.length > 0) await write(session, audience, part)
    await this.#send(session, part.changes, request)
    return part
  }

  /** Lets some of those leave whom the list has not named; undefined where the sync is over. */
  async release(
    session: Session,
    request: ReleaseRequest,
    sync: Sync,
  ): Promise<ReleasedPart | undefined> {
    const audience = await hold(session, sync)
    if (audience === undefined) return undefined
    const { after, rowsMax, nowMs } = request
    const page = await memberPage(session, { audienceId: audience.id, after, rowsMax })
    const gone = page.filter(({ number }) => !sync.listed.has(number)).map(identityOf)
    await leave(session, audience, gone)
    const users = await usersOf(session, audience, lastOfUsers(gone))
    // Who is still there by another identifier has not left.
    const left = users.filter(({ isMember }) => !isMember)
    const told = left.filter((user) => !user.isSuppressed)
    const changes = told.map(({ identity }) => ({ identity, value: null }))
    await this.#send(session, changes, request)
    const last = page.at(-1)
    const next = last === undefined || page.length < rowsMax ? null : identityOf(last)
    if (next === null) await finish(session, audience, nowMs)
    return { left: left.map(({ identity }) => identity), next, calls: changes.length }
  }

  async #send(
    session: Session,
    changes: readonly MembershipChange[],
    request: SyncRequest,
  ): Promise<void> {
    const { nowMs, seenSinceMs, eventsOf } = request
    const events = eventsOf(changes)
    await this.#queue.addWithin(session, { nowMs, seenSinceMs, events, handOver: [] })
  }
}

async function hold(session: Session, sync: Sync): Promise<AudienceRow | undefined> {
  const values = [sync.audienceId, sync.number]
  const [row] = await session.rows<AudienceRow>({ name: 'hold_audience', sql: holdSql, values })
  return row
}

async function knownLines(
  session: Session,
  audience: AudienceRow,
  members: readonly Member[],
): Promise<readonly KnownLine[]> {
  const userKeys = members.map(({ identity }) => userKey(identity))
  const memberKeys = members.map(({ identity }) => memberKey(identity))
  const userIds = members.map(({ identity }) => toStoredOrNull(identity.userId))
  const values = [audience.id, userKeys, memberKeys, userIds, audience.source_id]
  const rows = await session.rows<KnownRow>({ name: 'known_members', sql: knownSql, values })
  return rows.map(({ number, value, is_suppressed: isDropped }, place) => ({
    kept: number === null || value === null ? undefined : { number, value },
    isSuppressed: isDropped,
    key: memberKeys[place] ?? '',
  }))
}

async function write(session: Session, audience: AudienceRow, part: TakenPart): Promise<void> {
  const identities = part.written.map(({ member }: WrittenMember) => member.identity)
  const values = [
    audience.id,
    part.entered,
    identities.map(userKey),
    identities.map(memberKey),
    identities.map(({ userId }) => toStoredOrNull(userId)),
    identities.map(({ anonymousId }) => toStoredOrNull(anonymousId)),
    identities.map(({ email }) => toStoredOrNull(email)),
    part.written.map(({ number }) => number),
    part.written.map(({ value }) => value),
  ]
  await session.rows({ name: 'write_members', sql: writeSql, values })
}

/** A user who may have left. */
interface KnownUser {
  /** The last of its identifiers that went. */
  readonly identity: MemberIdentity
  readonly isMember: boolean
  readonly isSuppressed: boolean
}

async function usersOf(
  session: Session,
  audience: AudienceRow,
  identities: readonly MemberIdentity[],
): Promise<readonly KnownUser[]> {
  if (identities.length === 0) return []
  const userIds = identities.map(({ userId }) => toStoredOrNull(userId))
  const values = [audience.id, identities.map(userKey), userIds, audience.source_id]
  const rows = await session.rows<UserRow>({ name: 'users_of_members', sql: usersSql, values })
  return identities.map((identity, place) => ({
    identity,
    isMember: rows[place]?.is_member === true,
    isSuppressed: rows[place]?.is_suppressed === true,
  }))
}

/** Of each user the last identifier: in the order of their keys those of a user stand together. */
function lastOfUsers(identities: readonly MemberIdentity[]): readonly MemberIdentity[] {
  const keys = identities.map(userKey)
  return identities.filter((_, place) => keys[place] !== keys[place + 1])
}

/** @param identities - in the order of their keys */
async function leave(
  session: Session,
  audience: AudienceRow,
  identities: readonly MemberIdentity[],
): Promise<void> {
  const [first, last] = [identities[0], identities.at(-1)]
  if (first === undefined || last === undefined) return
  const range = [userKey(first), memberKey(first), userKey(last), memberKey(last)]
  const values = [audience.id, identities.map(userKey), identities.map(memberKey), ...range]
  await session.rows({ name: 'leave', sql: leaveSql, values })
}

async function finish(session: Session, { id }: AudienceRow, nowMs: number): Promise<void> {
  const sql = 'UPDATE evroute_audiences SET synced_at = $2, sync = NULL WHERE id = $1'
  await session.rows({ name: 'finish_sync', sql, values: [id, nowMs] })
}
