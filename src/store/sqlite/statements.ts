import type {
  DeliveryProgress,
  EndpointHold,
  LeasedDelivery,
  NewEvent,
  Settlement,
} from '../../delivery/index.ts'
import type { EventType, Lane, RequestRecord } from '../../model/index.ts'
import type { Database } from './database.ts'
import { DamagedRowError } from './store-error.ts'
import { fromStored, toStored, toStoredOrNull } from './stored-text.ts'

interface LeasedRow {
  readonly message_id: string
  readonly type: EventType
  readonly accepted_at: number
  readonly attempts: number
  readonly window_attempts: number
  readonly first_attempt_at: number | null
  readonly holds: string
  readonly body: string
}

/** A delivery that waits, and since or until when. */
export interface WaitingRow {
  readonly id: number
  readonly due_at: number
}

/** A lane of a destination. */
export interface LaneOf {
  readonly destinationId: string
  readonly lane: Lane
}

/** A delivery that is written for the first time. */
export interface DeliveryRow {
  readonly destinationId: string
  readonly id: number
  readonly event: NewEvent
  readonly bodyId: number
  readonly nowMs: number
}

/** How a delivery came to its end. */
export interface DeliveryEnd {
  readonly destinationId: string
  readonly id: number
  readonly state: 'delivered' | 'failed' | 'expired'
  readonly attempts: number
  readonly reason: string | null
  readonly nowMs: number
}

/**
 * What taking in, giving out and settling say to the database, compiled once. Every change of a
 * delivery says whether the delivery stood where the change begins: another process may have
 * changed it.
 */
export class Statements {
  readonly #see
  readonly #addBody
  readonly #addDelivery
  readonly #waiting
  readonly #leased
  readonly #end
  readonly #retry
  readonly #countRounds
  readonly #giveBack
  readonly #addRequest

  constructor(database: Database) {
    this.#see = database.prepare(`
      INSERT INTO seen VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET seen_at = excluded.seen_at
      WHERE seen_at < ?`)
    this.#addBody = database.prepare(
      'INSERT INTO messages (body, deliveries) VALUES (?, ?) RETURNING id',
    )
    this.#addDelivery = database.prepare(`
      INSERT INTO deliveries (destination_id, id, source_id, message_id, type, user_id, previous_id,
        body_id, state, lane, accepted_at, due_at, attempts, window_attempts, holds, manual_retries)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'pending', 'first', ?, ?, 0, 0, '[]', 0)`)
    this.#waiting = database.prepare(`
      SELECT deliveries.id, due_at FROM deliveries JOIN messages ON messages.id = body_id
      WHERE destination_id = ? AND lane = ? AND state = 'pending' AND due_at <= ?
      ORDER BY due_at, deliveries.id LIMIT ?`)
    this.#leased = database.prepare(`
      SELECT message_id, type, accepted_at, attempts, window_attempts, first_attempt_at, holds, body
      FROM deliveries JOIN messages ON messages.id = body_id
      WHERE destination_id = ? AND deliveries.id = ?`)
    this.#end = database.prepare(`
      UPDATE deliveries SET state = ?, attempts = ?, reason = ?, settled_at = ?
      WHERE destination_id = ? AND id = ? AND state = 'pending'`)
    this.#retry = database.prepare(`
      UPDATE deliveries SET lane = 'retry', due_at = ?, expires_at = ?, attempts = ?,
        window_attempts = ?, first_attempt_at = ?, holds = ?
      WHERE destination_id = ? AND id = ? AND state = 'pending' AND lane = ?`)
    this.#countRounds = database.prepare(`
      UPDATE deliveries SET attempts = ? WHERE destination_id = ? AND id = ? AND state = 'pending'`)
    this.#giveBack = database.prepare(`
      UPDATE deliveries SET due_at = ?
      WHERE destination_id = ? AND id = ? AND state = 'pending' AND lane = ?`)
    // An answer that comes late, when its delivery is erased already, is not kept either.
    const isErased = `d.state <> 'pending' AND d.user_id IS NULL
      AND EXISTS (SELECT 1 FROM messages WHERE messages.id = d.body_id AND body = '')`
    this.#addRequest = database.prepare(`
      INSERT INTO requests SELECT destination_id, id,
        (SELECT coalesce(max(r.id), 0) + 1 FROM requests r
          WHERE r.destination_id = d.destination_id AND r.delivery_id = d.id),
        ?, ?, ?, ?, ?, ?, ?, ?, CASE WHEN ${isErased} THEN '' ELSE ? END
      FROM deliveries d WHERE destination_id = ? AND id = ?`)
  }

  /** Remembers an event; false when it was seen already, at the given moment or after. */
  see(event: NewEvent, moments: { nowMs: number; seenSinceMs: number }): boolean {
    const { nowMs, seenSinceMs } = moments
    const key = [toStored(event.sourceId), toStored(event.messageId)]
    return this.#see.run(...key, nowMs, seenSinceMs).changes !== 0
  }

  /** Keeps the text of some deliveries and returns its id. */
  addBody(body: string, deliveries: number): number {
    const row = this.#addBody.get(toStored(body), deliveries) as { readonly id: number }
    return row.id
  }

  /** Writes a delivery that is due at once. */
  addDelivery({ destinationId, id, event, bodyId, nowMs }: DeliveryRow): void {
    this.#addDelivery.run(
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

  /** What waits in a lane and is due by a moment, in order, but for what has lost its text. */
  waiting(request: LaneOf & { dueByMs: number; rowsMax: number }): readonly WaitingRow[] {
    const { destinationId, lane, dueByMs, rowsMax } = request
    return this.#waiting.all(toStored(destinationId), lane, dueByMs, rowsMax) as WaitingRow[]
  }

  /** What is given out for a delivery that waits. */
  leasedDelivery(waiting: WaitingRow, { destinationId, lane }: LaneOf): LeasedDelivery {
    const { id, due_at: dueAtMs } = waiting
    const row = this.#leased.get(toStored(destinationId), id) as LeasedRow | undefined
    if (row === undefined) throw new DamagedRowError(`delivery ${id} or its text is missing`)
    return {
      id,
      destinationId,
      messageId: fromStored(row.message_id),
      type: row.type,
      body: fromStored(row.body),
      acceptedAtMs: row.accepted_at,
      lane,
      dueAtMs,
      ...progressOf(row),
    }
  }

  /** Writes the end of a pending delivery; false when it is none. */
  end({ destinationId, id, state, attempts, reason, nowMs }: DeliveryEnd): boolean {
    const why = toStoredOrNull(reason)
    const { changes } = this.#end.run(state, attempts, why, nowMs, toStored(destinationId), id)
    return changes !== 0
  }

  /** Writes when a delivery is tried again; one that somebody made due meanwhile stays due. */
  retry({ delivery, dueAtMs, expiresAtMs, progress }: Settlement & { kind: 'retry' }): void {
    const { attempts, windowAttempts, firstAttemptAtMs, holds } = progress
    const { id, lane } = delivery
    const destinationId = toStored(delivery.destinationId)
    const next = [dueAtMs, expiresAtMs, attempts, windowAttempts, firstAttemptAtMs]
    const { changes } = this.#retry.run(...next, JSON.stringify(holds), destinationId, id, lane)
    if (changes === 0) this.#countRounds.run(attempts, destinationId, id)
  }

  /** Writes when a delivery is due again whose round was not made. */
  giveBack({ destinationId, id, lane }: LeasedDelivery, dueAtMs: number): void {
    this.#giveBack.run(dueAtMs, toStored(destinationId), id, lane)
  }

  /** Writes a request, unless its delivery is purged. */
  addRequest(request: RequestRecord): void {
    this.#addRequest.run(
      request.attempt,
      request.lane,
      toStored(request.url),
      request.atMs,
      request.durationMs,
      request.outcome,
      request.status,
      toStoredOrNull(request.error),
      toStored(request.excerpt),
      toStored(request.destinationId),
      request.deliveryId,
    )
  }
}

/** How far a delivery has come, out of its row. */
export function progressOf(
  row: Pick<LeasedRow, 'attempts' | 'window_attempts' | 'first_attempt_at' | 'holds'>,
): DeliveryProgress {
  return {
    attempts: row.attempts,
    windowAttempts: row.window_attempts,
    firstAttemptAtMs: row.first_attempt_at,
    holds: row.holds === '[]' ? [] : holdsOf(row.holds),
  }
}

function holdsOf(json: string): readonly EndpointHold[] {
  try {
    return JSON.parse(json) as readonly EndpointHold[]
  } catch (cause) {
    throw new DamagedRowError('the endpoints that a delivery leaves out cannot be read', { cause })
  }
}
