import type {
  ChangePosition,
  ChangeRequest,
  ChangeResult,
  DeliveryFilter,
  LoggedState,
  LostRequest,
  PurgeRequest,
} from '../../delivery/index.ts'
import { discardedReason, reasonsNotRetried, type GivenUpDeliveries } from '../../model/index.ts'
import { givenUpByDestination } from '../added-deliveries.ts'
import {
  firstRow,
  joined,
  raw,
  rowsOf,
  run,
  sql,
  type Dialect,
  type Script,
  type Sql,
} from '../sql.ts'
import { fromStored, toStored } from '../stored-text.ts'

/** A delivery that is locked until the transaction ends, with its state before the change. */
interface FoundRow {
  readonly destination_id: string
  readonly id: number
  readonly state: LoggedState
  /** The end of its retry window; null if it was not tried. */
  readonly expires_at: number | null
  /** The value of the column `by` of its {@link Range}. */
  readonly at: number
}

/**
 * Moves deliveries from the counts of their old states to the count of a new one. Call it at the end of the
 * transaction, because it locks the counts.
 */
export type CountChanges = (
  rows: readonly Pick<FoundRow, 'destination_id' | 'state'>[],
  after: LoggedState,
) => Script<void>

/** The engine-specific parts of retrying, discarding and expiring deliveries. */
export interface LogEngine {
  readonly dialect: Dialect
  readonly countChanges: CountChanges
  /** Returns the SQL condition that the row `delivery` is not leased. */
  readonly isUnleased: (nowMs: number) => Sql
  /** Further assignments that clear an ended lease, as in `, lease = NULL`. */
  readonly releasedColumns: Sql
}

/** A range of deliveries in an index, ordered by a time. The index of `expires_at` covers all destinations. */
interface Range {
  readonly condition: Sql
  readonly by: 'settled_at' | 'due_at' | 'expires_at'
}

interface Search {
  readonly ranges: readonly Range[]
  readonly filter?: DeliveryFilter
  readonly nowMs: number
  readonly limit: number
  readonly lock: Sql
  readonly after?: ChangePosition | undefined
}

/** Selects every destination that ever had deliveries, as `destination_id`, in order. */
export const allDestinations: string = `
  SELECT destination_id FROM evroute_counts WHERE destination_id <> ''
  GROUP BY destination_id ORDER BY destination_id`

/** Selects one destination, or by default all that ever had deliveries, as `destination_id`. */
export function destinationsOf(destinationId: string | undefined): Sql {
  return destinationId === undefined
    ? raw(allDestinations)
    : sql`SELECT CAST(${toStored(destinationId)} AS text) AS destination_id`
}

/** Writes a filter as SQL conditions that each begin with `AND`. `state` is the column with the state. */
export function conditionsOf(filter: DeliveryFilter, { isOfUser }: Dialect, state = 'state'): Sql {
  const { destinationId, messageId, userId, id, sinceMs, untilMs, states, types } = filter
  const conditions: Sql[] = []
  if (id !== undefined) conditions.push(sql`AND id = ${id}`)
  for (const [column, text] of Object.entries({
    destination_id: destinationId,
    message_id: messageId,
  })) {
    if (text !== undefined) conditions.push(sql`AND ${raw(column)} = ${toStored(text)}`)
  }
  if (userId !== undefined) conditions.push(sql`AND ${isOfUser(toStored(userId))}`)
  if (sinceMs !== undefined) conditions.push(sql`AND accepted_at >= ${sinceMs}`)
  if (untilMs !== undefined) conditions.push(sql`AND accepted_at < ${untilMs}`)
  for (const [column, names] of [
    [state, states],
    ['type', types],
  ] as const) {
    if (names === undefined) continue
    const some = names.length === 0 ? raw('NULL') : joined(names, ', ')
    conditions.push(sql`AND ${raw(column)} IN (${some})`)
  }
  return joined(conditions, ' ')
}

/** Makes failed, expired and retrying deliveries due immediately. */
export function* retry(engine: LogEngine, request: ChangeRequest): Script<ChangeResult> {
  const { nowMs, filter } = request
  const isNamed = filter.id !== undefined || filter.messageId !== undefined
  const ended = (state: LoggedState): Range => ({
    condition: sql`${raw(`state = '${state}'`)} AND state <> 'pending' AND settled_at <= ${nowMs}
      AND coalesce(reason, '') NOT IN (${joined(reasonsNotRetried(isNamed), ', ')})`,
    by: 'settled_at',
  })
  const waiting: Range = {
    condition: sql`lane = 'retry' AND state = 'pending' AND coalesce(first_attempt_at, 0) <= ${nowMs}`,
    by: 'due_at',
  }
  // Most deliveries are `delivered`. Search three ranges without them.
  const ranges = [ended('failed'), ended('expired'), waiting]
  const lock = engine.dialect.forUpdate
  const { rows, next } = yield* find(engine, { ...request, ranges, lock })
  const changes = sql`state = 'pending', lane = 'manual', due_at = ${nowMs}, window_attempts = 0,
    first_attempt_at = NULL, expires_at = NULL, holds = '[]', reason = NULL, settled_at = NULL,
    manual_retries = manual_retries + 1`
  yield* change(engine, { rows, changes, after: 'pending' })
  return { deliveries: rows.length, next }
}

/** Counts deliveries that failed or expired, without discarded and erased ones. */
export function* countLost({ destinationId, sinceMs, limit }: LostRequest): Script<number> {
  // `state <> 'pending'` lets PostgreSQL use its partial index.
  const row = yield* firstRow<{ readonly deliveries: number }>(sql`
    SELECT count(*) AS deliveries FROM (
      SELECT 1 FROM evroute_deliveries
      WHERE destination_id = ${toStored(destinationId)} AND (state = 'failed' OR state = 'expired')
        AND state <> 'pending' AND settled_at >= ${sinceMs}
        AND coalesce(reason, '') NOT IN (${joined(reasonsNotRetried(false), ', ')})
      LIMIT ${limit}) lost`)
  return row?.deliveries ?? 0
}

/** Ends pending deliveries as failed, without sending them. */
export function* discard(engine: LogEngine, request: ChangeRequest): Script<ChangeResult> {
  const { nowMs } = request
  const ranges = ['first', 'retry', 'manual'].map((lane): Range => ({
    condition: sql`${raw(`lane = '${lane}'`)} AND state = 'pending' AND accepted_at <= ${nowMs}`,
    by: 'due_at',
  }))
  const lock = engine.dialect.forUpdate
  const { rows, next } = yield* find(engine, { ...request, ranges, lock })
  yield* end(engine, rows, { state: 'failed', reason: discardedReason, nowMs })
  return { deliveries: rows.length, next }
}

/** Expires deliveries whose retry window is over, and untried ones that have waited too long. */
export function* giveUp(
  engine: LogEngine,
  { nowMs, abandonedBeforeMs, rowsMax: limit }: PurgeRequest,
): Script<readonly GivenUpDeliveries[]> {
  const windowOver: Range = {
    condition: sql`state = 'pending' AND expires_at < ${nowMs}`,
    by: 'expires_at',
  }
  const untried = ['manual', 'first'].map((lane): Range => ({
    condition: sql`${raw(`lane = '${lane}'`)} AND state = 'pending' AND due_at < ${abandonedBeforeMs}
      AND expires_at IS NULL`,
    by: 'due_at',
  }))
  const lock = engine.dialect.forUpdateSkipLocked
  const { rows } = yield* find(engine, { ranges: [windowOver, ...untried], nowMs, limit, lock })
  const reason = sql`CASE WHEN expires_at IS NULL THEN 'abandoned' ELSE 'window_over' END`
  yield* end(engine, rows, { state: 'expired', reason, nowMs })
  const idsOf = (isTried: boolean): readonly string[] =>
    rows
      .filter((row) => (row.expires_at !== null) === isTried)
      .map((row) => fromStored(row.destination_id))
  return [
    ...givenUpByDestination(idsOf(true), 'window_over'),
    ...givenUpByDestination(idsOf(false), 'abandoned'),
  ]
}

/** Adds up the deliveries that were given up. */
export function countOf(givenUp: readonly GivenUpDeliveries[]): number {
  return givenUp.reduce((sum, { deliveries }) => sum + deliveries, 0)
}

/** Finds and locks deliveries that are not leased, one range after the other. */
function* find(
  engine: LogEngine,
  search: Search,
): Script<{ readonly rows: readonly FoundRow[]; readonly next: ChangePosition | null }> {
  const { ranges, after } = search
  const rows: FoundRow[] = []
  for (const [range, searched] of ranges.entries()) {
    if (range < (after?.range ?? 0)) continue
    const limit = search.limit - rows.length
    const begin = range === after?.range ? after : undefined
    rows.push(...(yield* findIn(searched, engine, { ...search, limit, after: begin })))
    const last = rows.at(-1)
    if (last !== undefined && rows.length === search.limit) {
      return { rows, next: { range, destinationId: last.destination_id, atMs: last.at } }
    }
  }
  return { rows, next: null }
}

function findIn(
  { condition, by }: Range,
  { dialect, isUnleased }: LogEngine,
  { filter: { destinationId, ...filter } = {}, nowMs, limit, lock, after }: Search,
): Script<readonly FoundRow[]> {
  const wanted = sql`${condition} AND ${isUnleased(nowMs)} ${conditionsOf(filter, dialect)}`
  const columns = raw(`delivery.destination_id, delivery.id, delivery.state, delivery.expires_at,
    delivery.${by} AS at`)
  const order = raw(`ORDER BY ${by}`)
  const some = sql`LIMIT ${limit}`
  if (by === 'expires_at') {
    return rowsOf<FoundRow>(sql`SELECT ${columns} FROM evroute_deliveries delivery WHERE ${wanted}
      ${order} ${some} ${lock}`)
  }
  const isOfDestination = sql`delivery.destination_id = destination.destination_id AND ${wanted}
    ${after === undefined ? raw('') : isNotBefore(after, by)}`
  const deliveries = dialect.deliveriesOfEach('*', isOfDestination, sql`${order} ${some} ${lock}`)
  return rowsOf<FoundRow>(sql`SELECT ${columns} FROM (${destinationsOf(destinationId)}) destination
    ${deliveries} ${some}`)
}

/**
 * The condition that a delivery does not come before a position. It includes the time of
 * the last delivery, because others may have the same time. Deliveries that were already changed are not found again.
 */
function isNotBefore({ destinationId, atMs }: ChangePosition, by: Range['by']): Sql {
  const id = sql`${destinationId}`
  return sql`AND destination.destination_id >= ${id} AND delivery.${raw(by)} >= CASE
    WHEN destination.destination_id = ${id} THEN CAST(${atMs} AS bigint) ELSE 0 END`
}

function end(
  engine: LogEngine,
  rows: readonly FoundRow[],
  { state, reason, nowMs }: { state: LoggedState; reason: string | Sql; nowMs: number },
): Script<void> {
  const changes = sql`state = ${state}, reason = ${reason}, settled_at = ${nowMs}`
  return change(engine, { rows, changes, after: state })
}

function* change(
  { dialect, countChanges, releasedColumns }: LogEngine,
  parts: { readonly rows: readonly FoundRow[]; readonly changes: Sql; readonly after: LoggedState },
): Script<void> {
  const { rows, changes, after } = parts
  if (rows.length === 0) return
  const given = dialect.given(rows, { destination_id: 'text', id: 'bigint' })
  yield* run(sql`UPDATE evroute_deliveries AS delivery SET ${changes}${releasedColumns} FROM ${given}
    WHERE delivery.destination_id = given.destination_id AND delivery.id = given.id`)
  yield* countChanges(rows, after)
}
