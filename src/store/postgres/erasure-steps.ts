import type { NotificationStream } from '../../privacy/index.ts'
import { isOfSources } from '../source-scope.ts'
import { fromStored, toStored } from '../stored-text.ts'
import { SubjectIds } from '../subject-ids.ts'
import type { OwnLeases } from './claim-statement.ts'
import type { Session } from './database.ts'
import { eraseDeliveries, forgetSeen, holdDeliveries } from './erasure-deliveries.ts'
import { eraseMembers } from './erasure-members.ts'
import {
  hasPending,
  lookBehind,
  type IdRange,
  type LookedRow,
  type WalkPlace,
} from './erasure-walk.ts'
import { countOf } from './regulation-rows.ts'

/**
 * What an erasure does, in this order.
 *
 * - `deliveries`: goes through all that were there
 * - `left`: comes back to those that were given out
 * - `seen`: forgets messageIds that name users, of events that have no deliveries any more
 * - `members`: takes users out of audiences
 * - `traces`: has the tables vacuumed; only where notifications are to be waited for
 * - `notifications`: erases those that were delivered, until none is pending
 * - `last traces`: has the tables vacuumed
 */
type Stage =
  'deliveries' | 'left' | 'seen' | 'members' | 'traces' | 'notifications' | 'last traces' | 'done'

interface Erasure {
  readonly number: number
  readonly source_ids: string | null
  readonly created_at: number
  readonly last_id: number
  readonly last_notification_id: number
  readonly streams: string
  readonly stage: Stage
  readonly at_key: string
  readonly at_id: number
}

interface SeenRow {
  readonly source_id: string
  readonly message_id: string
  readonly seen_at: number
}

/** Asks for a step. */
export interface StepRequest {
  /** The regulation. */
  readonly id: string
  /** When it is erased, in milliseconds since 1970. */
  readonly nowMs: number
  /** At the most so many rows are looked at. */
  readonly rowsMax: number
  /** What this process has given out. */
  readonly own: OwnLeases
}

/** What a step has come to; `traces`: the tables are to be vacuumed before the next one. */
export type ErasureStep =
  | { readonly kind: 'more'; readonly rows: number }
  | { readonly kind: 'traces'; readonly number: number }
  | { readonly kind: 'waiting' }
  | { readonly kind: 'nothing' }

/** Where the walk of a stage is. */
interface Place {
  readonly key: string
  readonly id: number
}

const start: Place = Object.freeze({ key: '', id: 0 })

/** Rows that are looked at in a step, which takes some milliseconds. */
const stepRowsMax = 1_000

/** Users who are taken out of all audiences in a step. */
const stepUsersMax = 500

/** One process at a time: whoever comes second finds it held, and comes again. */
const holdSql = `
  SELECT number, source_ids, created_at, last_id, last_notification_id, streams, stage, at_key, at_id
  FROM evroute_regulations WHERE id = $1 FOR UPDATE SKIP LOCKED`

const leaveSql = `
  INSERT INTO evroute_regulation_left (number, destination_id, delivery_id)
  SELECT $1, * FROM unnest($2::text[], $3::bigint[]) ON CONFLICT DO NOTHING`

const leftSql = `
  SELECT destination_id AS "destinationId", delivery_id AS id FROM evroute_regulation_left
  WHERE number = $1 AND (destination_id, delivery_id) > ($2, $3::bigint)
  ORDER BY destination_id, delivery_id LIMIT $4`

const forgetLeftSql = `
  DELETE FROM evroute_regulation_left USING unnest($2::text[], $3::bigint[]) AS gone (destination, id)
  WHERE number = $1 AND destination_id = gone.destination AND delivery_id = gone.id`

const seenSql = `
  SELECT source_id, message_id, seen_at FROM evroute_seen WHERE (source_id, message_id) > ($1, $2)
  ORDER BY source_id, message_id LIMIT $3`

const countSql = `
  UPDATE evroute_regulations SET erased_pending = erased_pending + $2,
    erased_settled = erased_settled + $3, erased_members = erased_members + $4 WHERE number = $1`

/** Erases step by step, each of them in a transaction that whoever calls it begins and ends. */
export class ErasureSteps {
  /** The users of the erasure that is under way: 5,000 of them are not read for every step. */
  #subjects: { readonly number: number; readonly ids: SubjectIds } | undefined

  /** Does the next step of a regulation. */
  async step(session: Session, request: StepRequest): Promise<ErasureStep> {
    const values = [toStored(request.id)]
    const held = { name: 'hold_regulation', sql: holdSql, values }
    const [erasure] = await session.rows<Erasure>(held)
    if (erasure === undefined) return { kind: await unheld(session, request.id) }
    switch (erasure.stage) {
      case 'deliveries':
        return await this.#eraseDeliveries(session, erasure, request)
      case 'left':
        return await this.#eraseLeft(session, erasure, request)
      case 'seen':
        return await this.#forgetMessageIds(session, erasure, request)
      case 'members':
        return await this.#eraseMembers(session, erasure, request)
      case 'notifications':
        return await this.#eraseNotifications(session, erasure, request)
      case 'traces':
      case 'last traces':
        return { kind: 'traces', number: erasure.number }
      case 'done':
        return { kind: 'nothing' }
    }
  }

  async #eraseDeliveries(
    session: Session,
    erasure: Erasure,
    request: StepRequest,
  ): Promise<ErasureStep> {
    const subjects = await this.#subjectsOf(session, erasure)
    const looked = await look(session, erasure, {
      range: { afterId: 0, lastId: erasure.last_id },
      rowsMax: request.rowsMax,
      isWanted: (row) => isAbout(row, subjects, erasure),
    })
    await eraseOrLeave(session, erasure, { places: looked.wanted, ...request })
    await goOn(session, erasure, looked.next ?? 'left')
    return { kind: 'more', rows: looked.rows }
  }

  async #eraseLeft(session: Session, erasure: Erasure, request: StepRequest): Promise<ErasureStep> {
    const { number, at_key: atKey, at_id: atId } = erasure
    const limit = Math.min(request.rowsMax, stepRowsMax)
    const values = [number, atKey, atId, limit]
    const left = await session.rows<WalkPlace>({ name: 'left', sql: leftSql, values })
    const keys = [left.map(({ destinationId }) => destinationId), left.map(({ id }) => id)]
    if (left.length > 0) {
      await session.rows({ sql: forgetLeftSql, values: [number, ...keys] })
      await eraseOrLeave(session, erasure, { places: left, ...request })
    }
    const last = left.at(-1)
    if (last !== undefined && left.length === limit) {
      await goOn(session, erasure, { key: last.destinationId, id: last.id })
    } else if (await isAnyLeft(session, number)) {
      await goOn(session, erasure, start)
      return { kind: 'waiting' }
    } else {
      await goOn(session, erasure, 'seen')
    }
    return { kind: 'more', rows: left.length }
  }

  async #forgetMessageIds(
    session: Session,
    erasure: Erasure,
    { rowsMax }: StepRequest,
  ): Promise<ErasureStep> {
    const limit = Math.min(rowsMax, stepRowsMax)
    const place = erasure.at_key === '' ? ['', ''] : (JSON.parse(erasure.at_key) as string[])
    const values = [...place, limit]
    const rows = await session.rows<SeenRow>({ name: 'seen_behind', sql: seenSql, values })
    const subjects = await this.#subjectsOf(session, erasure)
    const sourceIds = sourceIdsOf(erasure)
    const named = rows.filter(
      ({ source_id: sourceId, message_id: messageId, seen_at: seenAtMs }) =>
        seenAtMs <= erasure.created_at &&
        subjects.areNamedIn(messageId) &&
        isOfSources(fromStored(sourceId), sourceIds),
    )
    await forgetSeen(session, named)
    const last = rows.at(-1)
    const isOver = last === undefined || rows.length < limit
    const key = isOver ? '' : JSON.stringify([last.source_id, last.message_id])
    await goOn(session, erasure, isOver ? 'members' : { key, id: 0 })
    return { kind: 'more', rows: rows.length }
  }

  async #eraseMembers(
    session: Session,
    erasure: Erasure,
    { rowsMax }: StepRequest,
  ): Promise<ErasureStep> {
    const { number, at_id: atPlace } = erasure
    const limit = Math.min(rowsMax, stepUsersMax)
    const sql = `SELECT place, user_id FROM evroute_regulation_users
      WHERE number = $1 AND place > $2 ORDER BY place LIMIT $3`
    const users = await session.rows<{ readonly place: number; readonly user_id: string }>({
      name: 'users_behind',
      sql,
      values: [number, atPlace, limit],
    })
    const userIds = users.map((user) => fromStored(user.user_id))
    const members = await eraseMembers(session, userIds, sourceIdsOf(erasure))
    if (members > 0) await session.rows({ sql: countSql, values: [number, 0, 0, members] })
    const last = users.at(-1)
    if (last !== undefined && users.length === limit) {
      await goOn(session, erasure, { key: '', id: last.place })
    } else {
      const isLong = await hasPending(session, notificationsOf(erasure))
      await goOn(session, erasure, isLong ? 'traces' : 'notifications')
    }
    return { kind: 'more', rows: users.length }
  }

  async #eraseNotifications(
    session: Session,
    erasure: Erasure,
    request: StepRequest,
  ): Promise<ErasureStep> {
    const range = notificationsOf(erasure)
    const looked = await look(session, erasure, {
      range,
      rowsMax: request.rowsMax,
      isWanted: (row) => row.state === 'delivered' && row.user_id !== null,
    })
    const held = await holdDeliveries(session, looked.wanted, request)
    await eraseDeliveries(session, held, request.nowMs)
    if (looked.next !== null) {
      await goOn(session, erasure, looked.next)
      return { kind: 'more', rows: looked.rows }
    }
    const isPending = await hasPending(session, range)
    await goOn(session, erasure, isPending ? start : 'last traces')
    return isPending ? { kind: 'waiting' } : { kind: 'more', rows: looked.rows }
  }

  async #subjectsOf(session: Session, { number }: Erasure): Promise<SubjectIds> {
    if (this.#subjects?.number === number) return this.#subjects.ids
    const sql = 'SELECT user_id FROM evroute_regulation_users WHERE number = $1'
    const rows = await session.rows<{ readonly user_id: string }>({ sql, values: [number] })
    const ids = new SubjectIds(rows.map((row) => row.user_id))
    this.#subjects = { number, ids }
    return ids
  }
}

/** Notes that the tables were vacuumed. */
export async function noteVacuumed(session: Session, number: number): Promise<void> {
  const sql = `
    UPDATE evroute_regulations SET is_store_erased = true, at_key = '', at_id = 0,
      stage = CASE stage WHEN 'traces' THEN 'notifications' ELSE 'done' END
    WHERE number = $1 AND stage IN ('traces', 'last traces')`
  await session.rows({ sql, values: [number] })
}

/** What a walk has found in a step. */
interface Looked {
  readonly rows: number
  readonly wanted: readonly WalkPlace[]
  /** Where it goes on; null once it is over. */
  readonly next: Place | null
}

/** Looks at the deliveries behind those of the step before, until it has found some. */
async function look(
  session: Session,
  erasure: Erasure,
  {
    range,
    rowsMax,
    isWanted,
  }: {
    readonly range: IdRange
    readonly rowsMax: number
    readonly isWanted: (row: LookedRow) => boolean
  },
): Promise<Looked> {
  let place = { destinationId: erasure.at_key, id: erasure.at_id }
  let looked = 0
  const most = Math.min(rowsMax, stepRowsMax)
  let wanted: readonly WalkPlace[] = []
  while (looked < most && wanted.length === 0) {
    const rows = await lookBehind(session, place, { range, rowsMax: most - looked })
    const last = rows.at(-1)
    if (last === undefined) return { rows: looked, wanted, next: null }
    looked += rows.length
    wanted = rows.filter(isWanted).map(placeOf)
    place = placeOf(last)
  }
  return { rows: looked, wanted, next: { key: place.destinationId, id: place.id } }
}

/** Erases deliveries, but for those that are given out. */
async function eraseOrLeave(
  session: Session,
  { number }: Erasure,
  request: StepRequest & { readonly places: readonly WalkPlace[] },
): Promise<void> {
  if (request.places.length === 0) return
  const held = await holdDeliveries(session, request.places, request)
  const left = held.filter((row) => row.is_given_out)
  if (left.length > 0) {
    const keys = [left.map((row) => row.destination_id), left.map(({ id }) => id)]
    await session.rows({ name: 'leave_deliveries', sql: leaveSql, values: [number, ...keys] })
  }
  const free = held.filter((row) => !row.is_given_out)
  await eraseDeliveries(session, free, request.nowMs)
  const calls = free.filter(({ type }) => type !== 'delete')
  const pending = calls.filter(({ state }) => state === 'pending').length
  const settled = calls.length - pending
  if (calls.length > 0) await session.rows({ sql: countSql, values: [number, pending, settled, 0] })
}

/** Tells whether a delivery is about users of an erasure, and of its sources. */
function isAbout(row: LookedRow, subjects: SubjectIds, erasure: Erasure): boolean {
  const { source_id: sourceId, type, state, user_id: userId, previous_id: previousId } = row
  if (![userId, previousId].some((id) => id !== null && subjects.has(id))) return false
  // What another regulation wants to be told is not taken back.
  if (type === 'delete' && state !== 'delivered') return false
  return isOfSources(fromStored(sourceId), sourceIdsOf(erasure))
}

/** Goes on in a stage, or with the next one. */
async function goOn(session: Session, erasure: Erasure, next: Stage | Place): Promise<void> {
  const { number, stage: before, at_key: atKey, at_id: atId } = erasure
  const [stage, { key, id }] = typeof next === 'string' ? [next, start] : [before, next]
  if (stage === before && key === atKey && id === atId) return
  const sql = `UPDATE evroute_regulations SET stage = $2, at_key = $3, at_id = $4 WHERE number = $1`
  await session.rows({ name: 'go_on', sql, values: [number, stage, key, id] })
}

/** Why a regulation could not be held: another process has it, or there is none. */
async function unheld(session: Session, id: string): Promise<'waiting' | 'nothing'> {
  const sql = 'SELECT 1 FROM evroute_regulations WHERE id = $1'
  const rows = await session.rows({ sql, values: [toStored(id)] })
  return rows.length > 0 ? 'waiting' : 'nothing'
}

async function isAnyLeft(session: Session, number: number): Promise<boolean> {
  const sql = 'SELECT 1 FROM evroute_regulation_left WHERE number = $1 LIMIT 1'
  return (await session.rows({ sql, values: [number] })).length > 0
}

function placeOf({ destination_id: destinationId, id }: LookedRow): WalkPlace {
  return { destinationId, id }
}

function sourceIdsOf({ source_ids: json }: Erasure): readonly string[] | null {
  return JSON.parse(json ?? 'null') as readonly string[] | null
}

function notificationsOf({ last_notification_id: lastId, streams }: Erasure): IdRange {
  const made = JSON.parse(streams) as readonly NotificationStream[]
  return { afterId: lastId - countOf(made), lastId }
}
