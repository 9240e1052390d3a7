import type {
  DeliveryFilter,
  DiscardRequest,
  LoggedState,
  PurgeRequest,
  RetryRequest,
} from '../../delivery/index.ts'
import { discardedReason, type GivenUpDeliveries, type GivenUpReason } from '../../model/index.ts'
import { countRefused, erasedReason } from '../added-deliveries.ts'
import {
  givenRows,
  rowsOf,
  run,
  type Bind,
  type Dialect,
  type Script,
  type SqlValue,
} from '../sql.ts'
import { fromStored, toStored } from '../stored-text.ts'
import { conditionsOf } from './conditions.ts'

/** A delivery that is locked until the end of the transaction, with its state so far. */
export interface FoundRow {
  readonly destination_id: string
  readonly id: number
  readonly state: LoggedState
}

/**
 * Moves deliveries from the counts of their old states to the count of a new one. Call it last, because it
 * locks counts.
 */
export type CountChanges = (
  rows: readonly Omit<FoundRow, 'id'>[],
  after: LoggedState,
) => Script<void>

/** The engine-specific parts of retries, discards and the ends of overdue deliveries. */
export interface LogEngine {
  readonly dialect: Dialect
  readonly countChanges: CountChanges
  /** Returns an SQL condition: the row `delivery` is not leased. */
  readonly isUnleased: (bind: Bind, nowMs: number) => string
  /** Further assignments that clear an ended lease, as in `, lease = NULL`; empty for none. */
  readonly releasedColumns: string
}

/** A range of deliveries in an index. */
interface Range {
  /** Returns the condition of the range. */
  readonly condition: (bind: Bind) => string
  /** As in `ORDER BY id`; none by default. */
  readonly order?: string
  /** Whether the index covers all destinations together; false if it is by destination. */
  readonly isOfAll?: boolean
}

/** A search in some ranges. */
interface Search {
  readonly ranges: readonly Range[]
  readonly filter?: DeliveryFilter
  readonly nowMs: number
  readonly limit: number
  /** The end of the SELECT, which locks the rows. */
  readonly lock: string
}

/** Selects every destination that ever had deliveries, as `destination_id`. */
export const allDestinations: string = `
  SELECT destination_id FROM evroute_counts WHERE destination_id <> '' GROUP BY destination_id`

/** Makes deliveries due at once and returns their number. */
export function* retry(engine: LogEngine, request: RetryRequest): Script<number> {
  const { nowMs } = request
  const ended = (state: LoggedState): Range => ({
    condition: (bind) => `state = '${state}' AND state <> 'pending' AND settled_at <= ${bind(nowMs)}
      AND reason IS DISTINCT FROM '${erasedReason}'`,
  })
  const waiting: Range = {
    condition: (bind) => `lane = 'retry' AND state = 'pending'
      AND coalesce(first_attempt_at, 0) <= ${bind(nowMs)}`,
  }
  // None of these ranges contains delivered rows.
  const ranges = [ended('failed'), ended('expired'), waiting]
  const lock = engine.dialect.forUpdate
  const rows = yield* find(engine, { ...request, ranges, lock })
  const changes = `state = 'pending', lane = 'manual', due_at = $2, window_attempts = 0,
    first_attempt_at = NULL, expires_at = NULL, holds = '[]', reason = NULL, settled_at = NULL,
    manual_retries = manual_retries + 1`
  yield* change(engine, { rows, changes, values: [nowMs], after: 'pending' })
  return rows.length
}

/** Ends pending deliveries without sending them and returns their number. */
export function* discard(engine: LogEngine, request: DiscardRequest): Script<number> {
  const { nowMs } = request
  const range: Range = {
    // The lanes let SQLite use the index of pending deliveries.
    condition: (bind) => `state = 'pending' AND lane IN ('first', 'retry', 'manual')
      AND accepted_at <= ${bind(nowMs)}`,
  }
  const lock = engine.dialect.forUpdate
  const rows = yield* find(engine, { ...request, ranges: [range], lock })
  yield* end(engine, rows, { state: 'failed', reason: discardedReason, nowMs })
  return rows.length
}

/** Ends deliveries whose retry window is over. */
export function expire(
  engine: LogEngine,
  { nowMs, rowsMax }: PurgeRequest,
): Script<readonly GivenUpDeliveries[]> {
  const range: Range = {
    condition: (bind) => `state = 'pending' AND expires_at < ${bind(nowMs)}`,
    order: 'ORDER BY expires_at',
    isOfAll: true,
  }
  return giveUp(engine, { ranges: [range], nowMs, limit: rowsMax }, 'window_over')
}

/** Ends deliveries that have waited too long for their first attempt. */
export function abandon(
  engine: LogEngine,
  { nowMs, abandonedBeforeMs }: PurgeRequest,
  limit: number,
): Script<readonly GivenUpDeliveries[]> {
  const ranges = ['manual', 'first'].map((lane): Range => ({
    condition: (bind) =>
      `lane = '${lane}' AND state = 'pending' AND due_at < ${bind(abandonedBeforeMs)}`,
    order: 'ORDER BY due_at, id',
  }))
  return giveUp(engine, { ranges, nowMs, limit }, 'abandoned')
}

/** Returns the number of deliveries that were given up. */
export function countOf(givenUp: readonly GivenUpDeliveries[]): number {
  return givenUp.reduce((sum, { deliveries }) => sum + deliveries, 0)
}

function* giveUp(
  engine: LogEngine,
  search: Omit<Search, 'lock'>,
  reason: GivenUpReason,
): Script<readonly GivenUpDeliveries[]> {
  const lock = engine.dialect.forUpdateSkipLocked
  const rows = yield* find(engine, { ...search, lock })
  yield* end(engine, rows, { state: 'expired', reason, nowMs: search.nowMs })
  return countRefused(
    rows.map((row) => fromStored(row.destination_id)),
    reason,
  )
}

/** Finds and locks deliveries that are not leased, one range after the other. */
function* find(engine: LogEngine, search: Search): Script<readonly FoundRow[]> {
  const rows: FoundRow[] = []
  for (const range of search.ranges) {
    const limit = search.limit - rows.length
    if (limit > 0) rows.push(...(yield* findIn(range, engine, { ...search, limit })))
  }
  return rows
}

function findIn(
  { condition, order = '', isOfAll = false }: Range,
  { dialect, isUnleased }: LogEngine,
  { filter: { destinationId, ...filter } = {}, nowMs, limit, lock }: Search,
): Script<readonly FoundRow[]> {
  const values: SqlValue[] = []
  const bind: Bind = (value) => `$${values.push(value)}`
  const destinations =
    destinationId === undefined
      ? allDestinations
      : `SELECT CAST(${bind(toStored(destinationId))} AS text) AS destination_id`
  const wanted = `${condition(bind)} AND ${isUnleased(bind, nowMs)} ${conditionsOf(filter, { bind })}`
  const some = `LIMIT ${bind(limit)}`
  const columns = 'delivery.destination_id, delivery.id, delivery.state'
  const isOfDestination = `delivery.destination_id = destination.destination_id AND ${wanted}`
  const sql = isOfAll
    ? `SELECT ${columns} FROM evroute_deliveries delivery WHERE ${wanted} ${order} ${some} ${lock}`
    : `SELECT ${columns} FROM (${destinations}) destination
      ${dialect.deliveriesOfEach('*', isOfDestination, `${order} ${some} ${lock}`)} ${some}`
  return rowsOf<FoundRow>({ sql, values })
}

function end(
  engine: LogEngine,
  rows: readonly FoundRow[],
  { state, reason, nowMs }: { state: LoggedState; reason: string; nowMs: number },
): Script<void> {
  const changes = 'state = $2, reason = $3, settled_at = $4'
  return change(engine, { rows, changes, values: [state, reason, nowMs], after: state })
}

function* change(
  { dialect, countChanges, releasedColumns }: LogEngine,
  parts: {
    readonly rows: readonly FoundRow[]
    /** The columns to change, with the parameters from `$2` on. */
    readonly changes: string
    readonly values: readonly SqlValue[]
    readonly after: LoggedState
  },
): Script<void> {
  const { rows, changes, values, after } = parts
  if (rows.length === 0) return
  const given = dialect.given('$1', { destination_id: 'text', id: 'bigint' })
  const sql = `UPDATE evroute_deliveries AS delivery SET ${changes}${releasedColumns} FROM ${given}
    WHERE delivery.destination_id = given.destination_id AND delivery.id = given.id`
  yield* run({ sql, values: [givenRows(rows), ...values] })
  yield* countChanges(rows, after)
}
