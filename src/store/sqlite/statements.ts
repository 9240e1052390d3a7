import type { LeasedDelivery, NewEvent, Lease, LeaseEnd } from '../../delivery/index.ts'
import {
  discardedReason,
  type EventType,
  type Lane,
  type RequestRecord,
} from '../../model/index.ts'
import { progressOf, type ProgressRow } from '../log/index.ts'
import type { Database, SqlValue } from './database.ts'
import { RowsStatement } from './rows-statement.ts'
import { fromStored, toStored, toStoredOrNull } from '../stored-text.ts'

/** The row of a delivery that can be leased. */
export interface LeasableRow extends WaitingRow, ProgressRow {
  readonly message_id: string
  readonly type: EventType
  readonly accepted_at: number
  readonly body: string
}

/** A pending delivery, and when it is due or expires. */
export interface WaitingRow {
  readonly id: number
  readonly due_at: number
}

/** A lane of a destination. */
export interface LaneOf {
  readonly destinationId: string
  readonly lane: Lane
}

/** The deliveries of a lane that are asked for. */
export interface WaitingRequest extends LaneOf {
  readonly dueByMs: number
  readonly rowsMax: number
}

/** A new delivery. */
export interface DeliveryRow {
  readonly destinationId: string
  readonly id: number
  readonly event: NewEvent
  readonly bodyId: number
}

/** A new text, and the number of its deliveries. */
export interface BodyRow {
  readonly id: number
  readonly body: string
  deliveries: number
}

/** The end of some deliveries of one destination. */
export interface DeliveryEnd {
  readonly destinationId: string
  readonly state: 'delivered' | 'failed' | 'expired'
  readonly attempts: number
  readonly reason: string | null
}

const deliverAtFirstTrySql = (rows: string): string => `
  WITH tried (id, settled, url, at, duration, status, excerpt) AS (VALUES ${rows})
  UPDATE OR FAIL deliveries SET state = 'delivered', attempts = 1, reason = NULL,
    settled_at = settled, try_url = url, try_at = at, try_duration = duration,
    try_status = status, try_excerpt = excerpt
  FROM tried WHERE deliveries.id = tried.id AND state = 'pending'`

/** The late answer of an erased delivery is not kept either. */
const isErased = `d.state <> 'pending' AND d.user_id IS NULL
  AND EXISTS (SELECT 1 FROM messages WHERE messages.id = d.body_id AND body = '')`

const addRequestsSql = (rows: string): string => `
  WITH sent (delivery_id, place, attempt, lane, url, at, duration, outcome,
    status, error, excerpt) AS (VALUES ${rows})
  INSERT OR FAIL INTO requests SELECT d.id,
    sent.place + (SELECT coalesce(max(r.id), 0) FROM requests r WHERE r.delivery_id = d.id),
    sent.attempt, sent.lane, sent.url, sent.at, sent.duration, sent.outcome, sent.status,
    sent.error, CASE WHEN ${isErased} THEN '' ELSE sent.excerpt END
  FROM sent CROSS JOIN deliveries d ON d.id = sent.delivery_id`

/**
 * The statements for adding, leasing and settling, compiled once. Every change of a delivery names the
 * state that it begins with, because another process may have changed it.
 */
export class Statements {
  readonly #lastBodyId
  readonly #addBodies
  readonly #addDeliveries
  readonly #withPending
  readonly #waiting
  readonly #waitingWithText
  readonly #leased
  readonly #end
  readonly #deliverAtFirstTry
  readonly #withoutTry
  readonly #endedOf
  readonly #deliverDiscarded
  readonly #retry
  readonly #countRounds
  readonly #giveBack
  readonly #addRequests

  constructor(database: Database) {
    this.#lastBodyId = database.prepare('SELECT coalesce(max(id), 0) AS id FROM messages')
    this.#addBodies = new RowsStatement(
      database,
      '(?, ?, ?)',
      (rows) => `INSERT OR FAIL INTO messages (id, deliveries, body) VALUES ${rows}`,
    )
    this.#addDeliveries = new RowsStatement(
      database,
      "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'pending', 'first', 0, 0, '[]', 0)",
      (rows) => `
        INSERT OR FAIL INTO deliveries (destination_id, id, source_id, message_id, type, user_id,
          previous_id, body_id, accepted_at, due_at, state, lane, attempts, window_attempts, holds,
          manual_retries) VALUES ${rows}`,
    )
    this.#withPending = database.prepare(`
      SELECT asked.key AS place FROM json_each(?) AS asked WHERE EXISTS (
        SELECT 1 FROM deliveries WHERE destination_id = asked.value AND state = 'pending')`)
    const inLane = "destination_id = ? AND lane = ? AND state = 'pending' AND due_at <= ?"
    this.#waiting = database.prepare(
      `SELECT id FROM deliveries WHERE ${inLane} ORDER BY due_at, id LIMIT ?`,
    )
    this.#waitingWithText = database.prepare(`
      SELECT deliveries.id, due_at FROM deliveries JOIN messages ON messages.id = body_id
      WHERE ${inLane} ORDER BY due_at, deliveries.id LIMIT ?`)
    this.#leased = database.prepare(`
      SELECT deliveries.id, due_at, message_id, deliveries.type, accepted_at, attempts,
        window_attempts, first_attempt_at, holds, body
      FROM json_each(?) AS asked CROSS JOIN deliveries ON deliveries.id = asked.value
      CROSS JOIN messages ON messages.id = body_id`)
    this.#end = new RowsStatement(
      database,
      '?',
      (ids) => `
        UPDATE OR FAIL deliveries SET state = ?, attempts = ?, reason = ?, settled_at = ?
        WHERE id IN (${ids}) AND state = 'pending'`,
    )
    this.#deliverAtFirstTry = new RowsStatement(
      database,
      '(?, ?, ?, ?, ?, ?, ?)',
      deliverAtFirstTrySql,
    )
    this.#withoutTry = database.prepare(`
      SELECT deliveries.id FROM json_each(?) AS asked CROSS JOIN deliveries ON deliveries.id = asked.value
      WHERE try_at IS NULL`)
    this.#deliverDiscarded = database.prepare(`
      UPDATE deliveries SET state = 'delivered', attempts = ?, reason = NULL, settled_at = ?
      WHERE id IN (SELECT value FROM json_each(?)) AND +state = 'failed' AND +reason = '${discardedReason}'`)
    this.#endedOf = database.prepare(`
      SELECT deliveries.id FROM json_each(?) AS asked CROSS JOIN deliveries ON deliveries.id = asked.value
      WHERE state = ? AND attempts = ? AND settled_at = ?`)
    this.#retry = database.prepare(`
      UPDATE deliveries SET lane = 'retry', due_at = ?, expires_at = ?, attempts = ?,
        window_attempts = ?, first_attempt_at = ?, holds = ?
      WHERE id = ? AND state = 'pending' AND lane = ?`)
    this.#countRounds = database.prepare(`
      UPDATE deliveries SET attempts = ? WHERE id = ? AND state = 'pending'`)
    this.#giveBack = database.prepare(`
      UPDATE deliveries SET due_at = ? WHERE id = ? AND state = 'pending' AND lane = ?`)
    this.#addRequests = new RowsStatement(
      database,
      '(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
      addRequestsSql,
    )
  }

  /** The greatest id of a text; zero if there is none. */
  lastBodyId(): number {
    return (this.#lastBodyId.get() as { readonly id: number }).id
  }

  /** Adds texts. */
  addBodies(rows: readonly BodyRow[]): void {
    const values: SqlValue[] = []
    for (const { id, deliveries, body } of rows) values.push(id, deliveries, toStored(body))
    this.#addBodies.run(values)
  }

  /** Adds deliveries that are due at once. */
  addDeliveries(rows: readonly DeliveryRow[], nowMs: number): void {
    const values: SqlValue[] = []
    for (const { destinationId, id, event, bodyId } of rows) {
      values.push(
        toStored(destinationId),
        id,
        toStored(event.sourceId),
        toStored(event.messageId),
        event.type,
        toStoredOrNull(event.userId),
        toStoredOrNull(event.previousId ?? null),
        bodyId,
        nowMs,
        nowMs,
      )
    }
    this.#addDeliveries.run(values)
  }

  /** Those of some destinations that have pending deliveries. */
  withPending(destinationIds: readonly string[]): readonly string[] {
    const rows = this.#withPending.all(JSON.stringify(destinationIds.map(toStored)))
    const places = new Set(
      (rows as readonly { readonly place: number }[]).map(({ place }) => place),
    )
    return destinationIds.filter((_, place) => places.has(place))
  }

  /** The ids of the deliveries of a lane that are due by a moment, in order. */
  waiting(request: WaitingRequest): readonly number[] {
    const { destinationId, lane, dueByMs, rowsMax } = request
    const rows = this.#waiting.all(toStored(destinationId), lane, dueByMs, rowsMax)
    return (rows as readonly { readonly id: number }[]).map(({ id }) => id)
  }

  /**
   * The deliveries of a lane that are due by a moment, in order, without those whose text is lost.
   */
  waitingWithText(request: WaitingRequest): readonly WaitingRow[] {
    const { destinationId, lane, dueByMs, rowsMax } = request
    return this.#waitingWithText.all(
      toStored(destinationId),
      lane,
      dueByMs,
      rowsMax,
    ) as WaitingRow[]
  }

  /** The deliveries with some ids that have their text, in the order in which they are due. */
  leasable(ids: readonly number[]): readonly LeasableRow[] {
    const rows = this.#leased.all(JSON.stringify(ids)) as readonly LeasableRow[]
    // SQLite would copy the texts for sorting.
    return rows.toSorted(byDueTime)
  }

  /** Writes the end of the pending ones among some deliveries, and returns their number. */
  end(ids: readonly number[], { state, attempts, reason }: DeliveryEnd, nowMs: number): number {
    const first = [state, attempts, toStoredOrNull(reason), nowMs]
    return this.#end.run(ids, first)
  }

  /**
   * Writes first tries that succeeded to the pending ones among their deliveries, and returns the
   * number of these.
   */
  deliverAtFirstTry(tries: readonly RequestRecord[], nowMs: number): number {
    const values: SqlValue[] = []
    for (const { deliveryId, url, atMs, durationMs, status, excerpt } of tries) {
      values.push(deliveryId, nowMs, toStored(url), atMs, durationMs, status, toStored(excerpt))
    }
    return this.#deliverAtFirstTry.run(values)
  }

  /** The first tries that are not in the row of their delivery. */
  unwritten(tries: readonly RequestRecord[]): readonly RequestRecord[] {
    const rows = this.#withoutTry.all(JSON.stringify(tries.map(({ deliveryId }) => deliveryId)))
    const ids = new Set((rows as readonly { readonly id: number }[]).map(({ id }) => id))
    return tries.filter(({ deliveryId }) => ids.has(deliveryId))
  }

  /** Delivers deliveries that were discarded meanwhile, and returns their number. */
  deliverDiscarded(ids: readonly number[], { attempts }: DeliveryEnd, nowMs: number): number {
    return Number(this.#deliverDiscarded.run(attempts, nowMs, JSON.stringify(ids)).changes)
  }

  /** The ids of the deliveries that ended at a moment. */
  endedOf(
    ids: readonly number[],
    { state, attempts }: DeliveryEnd,
    nowMs: number,
  ): ReadonlySet<number> {
    const rows = this.#endedOf.all(JSON.stringify(ids), state, attempts, nowMs)
    return new Set((rows as readonly { readonly id: number }[]).map(({ id }) => id))
  }

  /**
   * Writes when a delivery is tried again. A delivery that another process made due meanwhile stays
   * due. False if another process has ended it.
   */
  retry({ delivery, dueAtMs, expiresAtMs, progress }: LeaseEnd & { kind: 'retry' }): boolean {
    const { attempts, windowAttempts, firstAttemptAtMs, holds } = progress
    const { id, lane } = delivery
    const next = [dueAtMs, expiresAtMs, attempts, windowAttempts, firstAttemptAtMs]
    const { changes } = this.#retry.run(...next, JSON.stringify(holds), id, lane)
    return Number(changes) > 0 || Number(this.#countRounds.run(attempts, id).changes) > 0
  }

  /** Writes when a delivery is due again whose round was not made. */
  giveBack({ id, lane }: Lease, dueAtMs: number): void {
    this.#giveBack.run(dueAtMs, id, lane)
  }

  /** Writes requests of deliveries that are not purged. */
  addRequests(requests: readonly RequestRecord[]): void {
    const values: SqlValue[] = []
    for (const [index, request] of requests.entries()) {
      values.push(
        request.deliveryId,
        index + 1,
        request.attempt,
        request.lane,
        toStored(request.url),
        request.atMs,
        request.durationMs,
        request.outcome,
        request.status,
        toStoredOrNull(request.error),
        toStored(request.excerpt),
      )
    }
    this.#addRequests.run(values)
  }
}

function byDueTime(a: WaitingRow, b: WaitingRow): number {
  return a.due_at - b.due_at || a.id - b.id
}

/** Makes a leased delivery from its row. */
export function leasedDelivery(
  row: LeasableRow,
  { destinationId, lane, lease }: LaneOf & { readonly lease: number },
): LeasedDelivery {
  return {
    id: row.id,
    lease,
    destinationId,
    messageId: fromStored(row.message_id),
    type: row.type,
    body: fromStored(row.body),
    acceptedAtMs: row.accepted_at,
    lane,
    dueAtMs: row.due_at,
    ...progressOf(row),
  }
}
