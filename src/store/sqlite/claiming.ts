import type { DueTime, LeasedDelivery, Share } from '../../delivery/index.ts'
import { lanes, type Lane } from '../../model/index.ts'
import { claimedColumns, leasedDelivery, type ClaimedRow } from '../log/logged-delivery.ts'
import { sql } from '../sql.ts'
import { toStored } from '../stored-text.ts'
import type { StoreParts } from './store-parts.ts'

interface DueRow {
  readonly position: number
  readonly lane: Lane
  readonly due_at: number | null
}

/** SQLite skips leased deliveries by their ids in the index, without reading their rows. */
const claimSql = `
  SELECT deliveries.id, ${claimedColumns}
  FROM deliveries INDEXED BY deliveries_waiting CROSS JOIN messages ON messages.id = body_id
  WHERE destination_id = $1 AND lane = $2 AND state = 'pending' AND due_at <= $3
    AND deliveries.id NOT IN (SELECT value FROM json_each($4))
  ORDER BY due_at, deliveries.id LIMIT $5`

/** Leases due deliveries, or none if it throws. Like {@link nextDue}, skips deliveries whose body is missing. */
export function claim(
  shares: readonly Share[],
  { statements, leases }: StoreParts,
): readonly LeasedDelivery[] {
  const claimed: LeasedDelivery[] = []
  try {
    for (const { destinationId, lane, dueByMs, deliveriesMax } of shares) {
      const leased = leases.idsOf([destinationId])
      const values = [toStored(destinationId), lane, dueByMs, leased, deliveriesMax]
      const rows = statements.all({ sql: claimSql, values }) as ClaimedRow[]
      for (const row of rows) {
        const lease = leases.begin({ destinationId, id: row.id })
        claimed.push(leasedDelivery(row, { destinationId, lane, lease }))
      }
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
