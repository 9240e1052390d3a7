import type { LeasedDelivery, Settlement } from '../../delivery/index.ts'
import type { EventType } from '../../model/index.ts'
import type { Database } from './database.ts'

/** A delivery that waits, as it stands in the file. */
export interface DueRow {
  readonly id: number
  readonly destination_id: string
  readonly message_id: string
  readonly type: EventType
  readonly body_id: number
  readonly due_at: number
  readonly attempts: number
  readonly first_attempt_at: number | null
  /** A JSON array of URLs. */
  readonly refused_urls: string
}

/** A delivery that is written for the first time. */
export interface DeliveryRow {
  readonly destinationId: string
  readonly id: number
  readonly sourceId: string
  readonly messageId: string
  readonly type: EventType
  readonly bodyId: number
  readonly nowMs: number
}

/** How a delivery came to its end. */
export interface DeliveryEnd {
  readonly delivery: LeasedDelivery
  readonly state: 'delivered' | 'failed' | 'expired'
  readonly reason: string | null
  readonly nowMs: number
}

/** Everything that is said to the database, compiled once. */
export class Statements {
  readonly #lastId
  readonly #addSeen
  readonly #addBody
  readonly #body
  readonly #addDelivery
  readonly #due
  readonly #end
  readonly #retry
  readonly #giveBack
  readonly #pending

  constructor(database: Database) {
    this.#lastId = database.prepare('SELECT max(id) AS id FROM deliveries')
    this.#addSeen = database.prepare('INSERT OR IGNORE INTO seen VALUES (?, ?, ?)')
    this.#addBody = database.prepare('INSERT INTO messages (body) VALUES (?) RETURNING id')
    this.#body = database.prepare('SELECT body FROM messages WHERE id = ?')
    this.#addDelivery = database.prepare(`
      INSERT INTO deliveries (destination_id, id, source_id, message_id, type, body_id, due_at,
        state, attempts, refused_urls)
      VALUES (?, ?, ?, ?, ?, ?, ?, 'pending', 0, '[]')`)
    this.#due = database.prepare(`
      SELECT id, destination_id, message_id, type, body_id, due_at, attempts, first_attempt_at,
        refused_urls
      FROM deliveries WHERE destination_id = ? AND state = 'pending' AND due_at <= ?
      ORDER BY due_at, id LIMIT ?`)
    this.#end = database.prepare(`
      UPDATE deliveries SET state = ?, reason = ?, settled_at = ?, attempts = attempts + 1
      WHERE destination_id = ? AND id = ?`)
    this.#retry = database.prepare(`
      UPDATE deliveries SET due_at = ?, first_attempt_at = ?, refused_urls = ?,
        attempts = attempts + 1
      WHERE destination_id = ? AND id = ?`)
    this.#giveBack = database.prepare(
      'UPDATE deliveries SET due_at = ? WHERE destination_id = ? AND id = ?',
    )
    this.#pending = database.prepare(`
      SELECT count(*) AS count FROM deliveries WHERE destination_id = ? AND state = 'pending'`)
  }

  /** The highest id that was given to a delivery; 0 before the first. */
  lastId(): number {
    const row = this.#lastId.get() as { readonly id: number | null }
    return row.id ?? 0
  }

  /** Remembers an event; false when it is known already. */
  addSeen(event: { sourceId: string; messageId: string; nowMs: number }): boolean {
    return this.#addSeen.run(event.sourceId, event.messageId, event.nowMs).changes !== 0
  }

  /** Keeps the text of a webhook and returns its id. */
  addBody(body: string): number {
    const row = this.#addBody.get(body) as { readonly id: number }
    return row.id
  }

  /** The text of a webhook. */
  body(id: number): string {
    const row = this.#body.get(id) as { readonly body: string }
    return row.body
  }

  /** Writes a delivery that is due at once. */
  addDelivery(row: DeliveryRow): void {
    const { destinationId, id, sourceId, messageId, type, bodyId, nowMs } = row
    this.#addDelivery.run(destinationId, id, sourceId, messageId, type, bodyId, nowMs)
  }

  /** What of a destination is pending and due, in the order it is due. */
  due(request: { destinationId: string; nowMs: number; rowsMax: number }): readonly DueRow[] {
    return this.#due.all(request.destinationId, request.nowMs, request.rowsMax) as DueRow[]
  }

  /** How many deliveries of a destination are pending, leased ones included. */
  pending(destinationId: string): number {
    const row = this.#pending.get(destinationId) as { readonly count: number }
    return row.count
  }

  /** Writes the end of a delivery. */
  end({ delivery, state, reason, nowMs }: DeliveryEnd): void {
    this.#end.run(state, reason, nowMs, delivery.destinationId, delivery.id)
  }

  /** Writes when a delivery is tried again. */
  retry(settlement: Settlement & { readonly kind: 'retry' }): void {
    const { delivery, dueAtMs, firstAttemptAtMs, refusedUrls } = settlement
    const { destinationId, id } = delivery
    this.#retry.run(dueAtMs, firstAttemptAtMs, JSON.stringify(refusedUrls), destinationId, id)
  }

  /** Makes a delivery due again whose round was not made. */
  giveBack({ destinationId, id }: LeasedDelivery, nowMs: number): void {
    this.#giveBack.run(nowMs, destinationId, id)
  }
}
