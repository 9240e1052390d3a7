import type { DueTime, LeasedDelivery, Share } from '../../delivery/index.ts'
import { lanes, type EventType } from '../../model/index.ts'
import { progressOf, type ProgressRow } from '../log/logged-delivery.ts'
import { fromStored, toStored } from '../stored-text.ts'
import type { Database, Statement } from './database.ts'
import type { Leases } from './leases.ts'

interface ClaimedRow extends ProgressRow {
  readonly id: number
  readonly due_at: number
  readonly message_id: string
  readonly type: EventType
  readonly accepted_at: number
  readonly body: string
  readonly traceparent: string | null
}

/**
 * Reads a lane in index order. Skips leased deliveries, and deliveries whose body is missing. SQLite checks
 * the ids in the index, so it reads no row of a leased delivery.
 */
const inLane = `FROM deliveries INDEXED BY deliveries_waiting
  CROSS JOIN messages ON messages.id = body_id
  WHERE destination_id = ? AND lane = ? AND state = 'pending' AND due_at <= ?
    AND deliveries.id NOT IN (SELECT value FROM json_each(?))
  ORDER BY due_at, deliveries.id LIMIT ?`

/** Leases deliveries that are due. */
export class Claiming {
  readonly #leases: Leases
  readonly #claim: Statement
  readonly #nextDue: Statement
  readonly #withPending: Statement

  constructor(database: Database, leases: Leases) {
    this.#leases = leases
    this.#claim = database.prepare(`
      SELECT deliveries.id, due_at, message_id, deliveries.type, accepted_at, attempts, window_attempts,
        first_attempt_at, holds, traceparent, body ${inLane}`)
    this.#nextDue = database.prepare(`SELECT due_at ${inLane}`)
    this.#withPending = database.prepare(`
      SELECT asked.key AS place FROM json_each(?) AS asked WHERE EXISTS (
        SELECT 1 FROM deliveries WHERE destination_id = asked.value AND state = 'pending')`)
  }

  /** Leases due deliveries of the given lanes. If it throws, it has leased none. */
  claim(shares: readonly Share[]): readonly LeasedDelivery[] {
    const claimed: LeasedDelivery[] = []
    try {
      for (const share of shares) {
        for (const row of this.#claim.all(...this.#valuesOf(share)) as ClaimedRow[]) {
          claimed.push(this.#lease(row, share))
        }
      }
      return claimed
    } catch (error) {
      for (const delivery of claimed) this.#leases.end(delivery)
      throw error
    }
  }

  /** Returns, for each lane of the given destinations, when its first delivery is due. */
  nextDue(destinationIds: readonly string[]): readonly DueTime[] {
    // One statement finds the destinations with pending deliveries. If most have none, this is a hundred
    // times as fast as asking for each lane.
    const places = this.#withPending.all(JSON.stringify(destinationIds.map(toStored)))
    return (places as readonly { readonly place: number }[]).flatMap(({ place }) => {
      const destinationId = destinationIds[place] ?? ''
      return lanes.flatMap((lane) => {
        const first = { destinationId, lane, dueByMs: Number.MAX_SAFE_INTEGER, deliveriesMax: 1 }
        const row = this.#nextDue.get(...this.#valuesOf(first)) as ClaimedRow | undefined
        return row === undefined ? [] : [{ destinationId, lane, dueAtMs: row.due_at }]
      })
    })
  }

  #valuesOf({ destinationId, lane, dueByMs, deliveriesMax }: Share) {
    const leasedIds = JSON.stringify([...this.#leases.idsOf(destinationId).keys()])
    return [toStored(destinationId), lane, dueByMs, leasedIds, deliveriesMax] as const
  }

  #lease(row: ClaimedRow, { destinationId, lane }: Share): LeasedDelivery {
    // Read the progress before the lease begins, because a damaged row throws.
    const progress = progressOf(row)
    const { id } = row
    return {
      id,
      lease: this.#leases.begin({ destinationId, id }),
      destinationId,
      messageId: fromStored(row.message_id),
      type: row.type,
      body: fromStored(row.body),
      traceparent: row.traceparent ?? undefined,
      acceptedAtMs: row.accepted_at,
      lane,
      dueAtMs: row.due_at,
      ...progress,
    }
  }
}
