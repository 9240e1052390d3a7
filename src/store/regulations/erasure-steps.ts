import { eraseMembers } from '../audiences/audience-changes.ts'
import type { EraseRequest, EraseResult, HeldUpErasure } from '../../privacy/index.ts'
import { firstRow, rowsOf, run, sql, type Dialect, type Script } from '../sql.ts'
import { fromStored } from '../stored-text.ts'
import { isOfSources } from '../suppressions.ts'
import { deliveriesAfter, eraseDeliveries, forgetSeen, hold } from './erasure-deliveries.ts'
import {
  rowKeyColumns,
  type DeliveryRowKey,
  type ErasableRow,
  type ErasureEngine,
} from './regulation-engine.ts'
import { RegulationNotifications, type NotificationColumns } from './regulation-notifications.ts'
import { withId } from './regulation-rows.ts'
import { SubjectIds } from './subject-ids.ts'

/**
 * The stages of an erasure, in this order.
 *
 * - `deliveries`: checks all deliveries up to the last one
 * - `left`: erases deliveries that were leased before, once their leases have ended
 * - `seen`: deletes messageIds of events without deliveries, if they contain a userId
 * - `members`: removes users from audiences
 * - `notifications`: erases delivered notifications, until none is pending
 * - `traces`: cleans the files once while notifications are pending, then returns to `notifications`
 * - `last traces`: cleans the files after all rows are erased
 */
type Stage =
  'deliveries' | 'left' | 'seen' | 'members' | 'notifications' | 'traces' | 'last traces' | 'done'

interface Erasure extends NotificationColumns {
  readonly number: number
  readonly source_ids: string | null
  readonly created_at: number
  readonly last_id: number
  readonly stage: Stage
  readonly at_key: string
  readonly at_id: number
  readonly is_store_erased: unknown
}

interface SeenRow {
  readonly source_id: string
  readonly message_id: string
  readonly seen_at: number
}

type StepRequest = Omit<EraseRequest, 'leavesTraces'>

/** The number of rows that a step checked; `traces` if the files must be cleaned before the next step. */
export type ErasureStep = number | Exclude<EraseResult, 'more' | HeldUpErasure>

type Reached = readonly [key: string, id: number]

const start: Reached = ['', 0]

interface Part {
  readonly rows: number
  /** The position to continue at, the next stage, or `waiting`: start this stage again later. */
  readonly next: Reached | Stage | 'waiting'
}

/** The maximum number of rows that a step checks, which takes a few milliseconds. */
const stepRowsMax = 1_000

/** The maximum number of users that a step removes from all audiences. */
const stepUsersMax = 500

/** Erases step by step. Each step is a script for one transaction. */
export class ErasureSteps {
  readonly #engine: ErasureEngine
  readonly #dialect: Dialect
  /** The users of the current erasure, kept so that each step need not read up to 5,000 of them. */
  #subjects: { readonly number: number; readonly ids: SubjectIds } | undefined

  constructor(engine: ErasureEngine) {
    this.#engine = engine
    this.#dialect = engine.dialect
  }

  /** Runs the next step of a regulation's erasure; `waiting` if another process is running it. */
  *step(request: StepRequest): Script<ErasureStep> {
    const erasure = yield* firstRow<Erasure>(sql`
      SELECT number, source_ids, created_at, last_id, last_notification_id, streams, stage, at_key,
        at_id, is_store_erased
      FROM evroute_regulations ${withId(request.id)} ${this.#dialect.forUpdateSkipLocked}`)
    if (erasure === undefined) {
      const known = yield* rowsOf(sql`SELECT 1 FROM evroute_regulations ${withId(request.id)}`)
      // If the regulation exists, another process has locked it.
      return known.length > 0 ? 'waiting' : 'nothing'
    }
    const rowsMax = Math.min(request.rowsMax, stepRowsMax)
    const part = yield* this.#partOf(erasure, { ...request, rowsMax })
    if (typeof part === 'string') return part
    const { rows, next } = part
    yield* goOn(erasure, next === 'waiting' ? start : next)
    return next === 'waiting' ? next : rows
  }

  *#partOf(erasure: Erasure, request: StepRequest): Script<Part | 'traces' | 'nothing'> {
    switch (erasure.stage) {
      case 'deliveries':
        return yield* this.#eraseDeliveries(erasure, request)
      case 'left':
        return yield* this.#eraseLeft(erasure, request)
      case 'seen':
        return yield* this.#forgetMessageIds(erasure, request)
      case 'members':
        return yield* this.#eraseMembers(erasure, request)
      case 'notifications':
        return yield* this.#eraseNotifications(erasure, request)
      case 'traces':
      case 'last traces':
        return 'traces'
      case 'done':
        return 'nothing'
    }
  }

  /** Checks further deliveries, group by group. Stops after the first group with deliveries to erase. */
  *#eraseDeliveries(erasure: Erasure, { nowMs, rowsMax }: StepRequest): Script<Part> {
    const { last_id: lastId } = erasure
    const subjects = yield* this.#subjectsOf(erasure)
    let reached: DeliveryRowKey = { destination_id: erasure.at_key, id: erasure.at_id }
    let checked = 0
    let wanted: readonly DeliveryRowKey[] = []
    while (checked < rowsMax && wanted.length === 0) {
      const limit = Math.min(rowsMax - checked, this.#engine.erasedRowsMax)
      const rows = yield* deliveriesAfter(reached, { lastId, rowsMax: limit })
      const last = rows.at(-1)
      if (last === undefined) return { rows: checked, next: 'left' }
      checked += rows.length
      wanted = rows.filter((row) => isAbout(row, subjects, erasure))
      reached = last
    }
    yield* this.#eraseOrLeave(erasure, wanted, nowMs)
    return { rows: checked, next: [reached.destination_id, reached.id] }
  }

  *#eraseLeft(erasure: Erasure, { nowMs, rowsMax }: StepRequest): Script<Part> {
    const ofErasure = sql`FROM evroute_regulation_left WHERE number = ${erasure.number}`
    const keys = yield* rowsOf<DeliveryRowKey>(sql`
      DELETE ${ofErasure} AND (destination_id, delivery_id) IN (
        SELECT destination_id, delivery_id ${ofErasure}
        ORDER BY destination_id, delivery_id LIMIT ${rowsMax})
      RETURNING destination_id, delivery_id AS id`)
    const leased = yield* this.#eraseOrLeave(erasure, keys, nowMs)
    const rows = keys.length
    if (leased < rows && rows === rowsMax) return { rows, next: start }
    return { rows, next: leased > 0 ? 'waiting' : 'seen' }
  }

  *#forgetMessageIds(erasure: Erasure, { rowsMax }: StepRequest): Script<Part> {
    const [sourceId = '', messageId = ''] = JSON.parse(erasure.at_key || '[]') as string[]
    const rows = yield* rowsOf<SeenRow>(sql`
      SELECT source_id, message_id, seen_at FROM evroute_seen
      WHERE (source_id, message_id) > (${sourceId}, ${messageId})
      ORDER BY source_id, message_id LIMIT ${rowsMax}`)
    const subjects = yield* this.#subjectsOf(erasure)
    const sourceIds = sourceIdsOf(erasure)
    const named = rows.filter(
      (row) =>
        row.seen_at <= erasure.created_at &&
        subjects.areNamedIn(row.message_id) &&
        isOfSources(fromStored(row.source_id), sourceIds),
    )
    yield* forgetSeen(named, this.#dialect)
    const last = rows.at(-1)
    const isOver = last === undefined || rows.length < rowsMax
    const next = isOver
      ? 'members'
      : ([JSON.stringify([last.source_id, last.message_id]), 0] as const)
    return { rows: rows.length, next }
  }

  *#eraseMembers(erasure: Erasure, { rowsMax }: StepRequest): Script<Part> {
    const { number, at_id: firstPlace } = erasure
    const limit = Math.min(rowsMax, stepUsersMax)
    const users = yield* rowsOf<{ readonly place: number; readonly user_id: string }>(sql`
      SELECT place, user_id FROM evroute_regulation_users
      WHERE number = ${number} AND place >= ${firstPlace} ORDER BY place LIMIT ${limit}`)
    const userIds = users.map((user) => fromStored(user.user_id))
    const sourceIds = sourceIdsOf(erasure)
    const members = yield* eraseMembers({ userIds, sourceIds }, this.#dialect)
    if (members > 0) yield* countErased(number, { pending: 0, settled: 0, members })
    const [rows, last] = [users.length, users.at(-1)]
    if (last !== undefined && rows === limit) return { rows, next: ['', last.place + 1] }
    return { rows, next: 'notifications' }
  }

  *#eraseNotifications(erasure: Erasure, request: StepRequest): Script<Part> {
    const notifications = new RegulationNotifications(erasure, this.#dialect)
    const limits = { idsMax: request.rowsMax, rowsMax: this.#engine.erasedRowsMax }
    const { keys, checked: rows, next } = yield* notifications.unerased(erasure.at_id, limits)
    yield* this.#eraseOrLeave(erasure, keys, request.nowMs)
    if (next !== null) return { rows, next: ['', next] }
    if (!(yield* notifications.isAnyLeft())) return { rows, next: 'last traces' }
    return { rows, next: Boolean(erasure.is_store_erased) ? 'waiting' : 'traces' }
  }

  /** Erases unleased deliveries, and records leased ones for the stage `left`. Returns how many are leased. */
  *#eraseOrLeave(
    { number }: Erasure,
    keys: readonly DeliveryRowKey[],
    nowMs: number,
  ): Script<number> {
    if (keys.length === 0) return 0
    const held = yield* hold(this.#engine, keys, nowMs)
    const left = held.filter(({ isLeased }) => Boolean(isLeased))
    if (left.length > 0) {
      yield* run(sql`INSERT INTO evroute_regulation_left (number, destination_id, delivery_id)
        SELECT ${number}, given.destination_id, given.id
        FROM ${this.#dialect.given(left, rowKeyColumns)} WHERE true ON CONFLICT DO NOTHING`)
    }
    const free = held.filter(({ isLeased }) => !Boolean(isLeased))
    yield* eraseDeliveries(this.#engine, free, nowMs)
    const calls = free.filter(({ type }) => type !== 'delete')
    const pending = calls.filter(({ state }) => state === 'pending').length
    const settled = calls.length - pending
    if (calls.length > 0) yield* countErased(number, { pending, settled, members: 0 })
    return left.length
  }

  *#subjectsOf({ number }: Erasure): Script<SubjectIds> {
    if (this.#subjects?.number === number) return this.#subjects.ids
    const rows = yield* rowsOf<{ readonly user_id: string }>(
      sql`SELECT user_id FROM evroute_regulation_users WHERE number = ${number}`,
    )
    const ids = new SubjectIds(rows.map((row) => row.user_id))
    this.#subjects = { number, ids }
    return ids
  }
}

/** Finds the regulations that are waiting for the files to be cleaned. */
export function* withTraces(): Script<readonly number[]> {
  const rows = yield* rowsOf<{ readonly number: number }>(
    sql`SELECT number FROM evroute_regulations WHERE stage IN ('traces', 'last traces')`,
  )
  return rows.map(({ number }) => number)
}

/** Records that the store's files no longer contain what these regulations erase. */
export function noteCleaned(numbers: readonly number[], { given }: Dialect): Script<void> {
  const rows = numbers.map((number) => ({ number }))
  return run(sql`
    UPDATE evroute_regulations SET is_store_erased = true, at_key = '', at_id = 0,
      stage = CASE stage WHEN 'traces' THEN 'notifications' ELSE 'done' END
    WHERE number IN (SELECT given.number FROM ${given(rows, { number: 'bigint' })})
      AND stage IN ('traces', 'last traces')`)
}

/** Tells whether an erasure covers a delivery, by its user, source and type. */
function isAbout(row: ErasableRow, subjects: SubjectIds, erasure: Erasure): boolean {
  const { source_id: sourceId, type, state, user_id: userId, previous_id: previousId } = row
  if (![userId, previousId].some((id) => id !== null && subjects.has(id))) return false
  // A notification of a deletion must be delivered before it is erased.
  if (type === 'delete' && state !== 'delivered') return false
  return isOfSources(fromStored(sourceId), sourceIdsOf(erasure))
}

/** Stores the position that a stage has reached, or the next stage. */
function* goOn(erasure: Erasure, next: Stage | Reached): Script<void> {
  const { number, stage: before, at_key: atKey, at_id: atId } = erasure
  const [stage, [key, id]] = typeof next === 'string' ? [next, start] : [before, next]
  if (stage === before && key === atKey && id === atId) return
  yield* run(sql`UPDATE evroute_regulations SET stage = ${stage}, at_key = ${key}, at_id = ${id}
    WHERE number = ${number}`)
}

function countErased(
  number: number,
  erased: { readonly pending: number; readonly settled: number; readonly members: number },
): Script<void> {
  return run(sql`
    UPDATE evroute_regulations SET erased_pending = erased_pending + ${erased.pending},
      erased_settled = erased_settled + ${erased.settled},
      erased_members = erased_members + ${erased.members} WHERE number = ${number}`)
}

function sourceIdsOf({ source_ids: json }: Erasure): readonly string[] | null {
  return JSON.parse(json ?? 'null') as readonly string[] | null
}
