import type { DueTime, LeasedDelivery, Share } from '../../delivery/index.ts'
import { lanes, type EventType, type Lane } from '../../model/index.ts'
import { progressOf, type ProgressRow } from '../log/logged-delivery.ts'
import { sql } from '../sql.ts'
import { fromStored, toStored } from '../stored-text.ts'
import type { Leases } from './leases.ts'
import type { StoreParts } from './store-parts.ts'

interface ClaimedRow extends ProgressRow {
  readonly id: number
  readonly due_at: number
  readonly message_id: string
  readonly type: EventType
  readonly accepted_at: number
  readonly body: string
  readonly traceparent: string | null
}

interface DueRow {
  readonly position: number
  readonly lane: Lane
  readonly due_at: number | null
}

/** Leases due deliveries, or none if it throws. Like {@link nextDue}, skips deliveries whose body is missing. */
export function claim(
  shares: readonly Share[],
  { statements, leases }: StoreParts,
): readonly LeasedDelivery[] {
  const claimed: LeasedDelivery[] = []
  try {
    for (const share of shares) {
      const { destinationId, lane, dueByMs, deliveriesMax } = share
      const leased = leases.idsOf([destinationId])
      // SQLite skips leased deliveries by their ids in the index, without reading their rows.
      const rows = statements.all(sql`
        SELECT deliveries.id, due_at, message_id, deliveries.type, accepted_at, attempts,
          window_attempts, first_attempt_at, holds, traceparent, body
        FROM deliveries INDEXED BY deliveries_waiting
        CROSS JOIN messages ON messages.id = body_id
        WHERE destination_id = ${toStored(destinationId)} AND lane = ${lane} AND state = 'pending'
          AND due_at <= ${dueByMs} AND deliveries.id NOT IN (SELECT value FROM json_each(${leased}))
        ORDER BY due_at, deliveries.id LIMIT ${deliveriesMax}`) as ClaimedRow[]
      for (const row of rows) claimed.push(leasedDelivery(row, share, leases))
    }
    return claimed
  } catch (error) {
    for (const delivery of claimed) leases.end(delivery)
    throw error
  }
}

/** Returns when the first delivery in each lane of these destinations is due. */
export function nextDue(
  destinationIds: readonly string[],
  { statements, leases }: StoreParts,
): readonly DueTime[] {
  // If most destinations have no pending deliveries, `waiting` is 50 times as fast as checking their lanes.
  const rows = statements.all(sql`
    WITH waiting AS MATERIALIZED (
      SELECT key AS position, value AS id FROM json_each(${JSON.stringify(destinationIds.map(toStored))})
      WHERE EXISTS (SELECT 1 FROM deliveries WHERE destination_id = value AND state = 'pending'))
    SELECT position, lanes.value AS lane, (
      SELECT due_at FROM deliveries INDEXED BY deliveries_waiting
      CROSS JOIN messages ON messages.id = body_id
      WHERE destination_id = waiting.id AND lane = lanes.value AND state = 'pending'
        AND deliveries.id NOT IN (SELECT value FROM json_each(${leases.idsOf(destinationIds)}))
      ORDER BY due_at, deliveries.id LIMIT 1) AS due_at
    FROM waiting CROSS JOIN json_each(${JSON.stringify(lanes)}) AS lanes`) as DueRow[]
  return rows.flatMap(({ position, lane, due_at: dueAtMs }) => {
    const destinationId = destinationIds[position]
    return destinationId === undefined || dueAtMs === null ? [] : [{ destinationId, lane, dueAtMs }]
  })
}

function leasedDelivery(
  row: ClaimedRow,
  { destinationId, lane }: Share,
  leases: Leases,
): LeasedDelivery {
  const { id } = row
  return {
    id,
    lease: leases.begin({ destinationId, id }),
    destinationId,
    messageId: fromStored(row.message_id),
    type: row.type,
    body: fromStored(row.body),
    traceparent: row.traceparent ?? undefined,
    acceptedAtMs: row.accepted_at,
    lane,
    dueAtMs: row.due_at,
    ...progressOf(row),
  }
}
