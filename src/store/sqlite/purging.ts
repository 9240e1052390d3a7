import type { EndedCounts, LeaseEnd, PurgeRequest } from '../../delivery/index.ts'
import { sql, type Query } from '../sql.ts'
import { isPurgeable } from '../regulations/regulation-notifications.ts'
import { fromStored } from '../stored-text.ts'
import type { LogParts } from './store-parts.ts'

/** A settlement that ends a delivery. */
export type Ending = Extract<LeaseEnd, { readonly attempts: number }>

interface EndedRow {
  readonly id: number
  readonly destination_id: string
  readonly body_id: number
  readonly state: keyof EndedCounts
}

/**
 * Deletes old messageIds and old ended deliveries, including their requests and bodies. Deletes at most `rowsMax`
 * messageIds, `rowsMax` delivered deliveries, and `rowsMax` failed or expired ones. Returns how many in all. Call
 * it in a transaction.
 */
export function purgeOld(request: PurgeRequest, parts: LogParts): number {
  const { deliveredBeforeMs, failedBeforeMs, messageIdsBeforeMs, rowsMax } = request
  const seen = sql`DELETE FROM seen WHERE (source_id, message_id) IN (
    SELECT source_id, message_id FROM seen WHERE seen_at < ${messageIdsBeforeMs}
    ORDER BY seen_at LIMIT ${rowsMax})`
  return (
    forget(deliveredBefore(deliveredBeforeMs, rowsMax), parts) +
    forget(failedBefore(failedBeforeMs, rowsMax), parts) +
    parts.statements.run(seen)
  )
}

/** Deletes this many ended deliveries: first delivered ones, then others, the oldest first. */
export function forgetEnded(count: number, parts: LogParts): void {
  const delivered = forget(deliveredBefore(Number.MAX_SAFE_INTEGER, count), parts)
  if (delivered === count) return
  forget(failedBefore(Number.MAX_SAFE_INTEGER, count - delivered), parts)
}

/** In a store without a log: deletes the pending deliveries that settlements end. Returns how many. */
export function forgetPending(endings: readonly Ending[], parts: LogParts): number {
  const ids = JSON.stringify(endings.map(({ delivery }) => delivery.id))
  const rows = parts.statements.all(sql`
    DELETE FROM deliveries WHERE id IN (SELECT value FROM json_each(${ids})) AND state = 'pending'
    RETURNING body_id`) as Pick<EndedRow, 'body_id'>[]
  forgetBodiesOf(rows, parts)
  for (const { delivery, kind } of endings) {
    parts.counts.addFor(delivery.destinationId, `purged_${kind}`, 1)
  }
  return rows.length
}

function deliveredBefore(beforeMs: number, rowsMax: number): Query {
  return sql`SELECT id, destination_id, body_id, state FROM deliveries
    WHERE state = 'delivered' AND settled_at < ${beforeMs} ORDER BY settled_at LIMIT ${rowsMax}`
}

function failedBefore(beforeMs: number, rowsMax: number): Query {
  return sql`SELECT id, destination_id, body_id, state FROM deliveries
    WHERE (state = 'failed' OR state = 'expired') AND settled_at < ${beforeMs} AND ${isPurgeable}
    ORDER BY settled_at LIMIT ${rowsMax}`
}

function forget(query: Query, parts: LogParts): number {
  const { statements, counts } = parts
  const rows = statements.all(query) as EndedRow[]
  if (rows.length === 0) return 0
  const ids = JSON.stringify(rows.map(({ id }) => id))
  statements.run(
    sql`DELETE FROM requests WHERE delivery_id IN (SELECT value FROM json_each(${ids}))`,
  )
  statements.run(sql`DELETE FROM deliveries WHERE id IN (SELECT value FROM json_each(${ids}))`)
  forgetBodiesOf(rows, parts)
  for (const { destination_id: destinationId, state } of rows) {
    counts.addFor(fromStored(destinationId), `purged_${state}`, 1)
  }
  return rows.length
}

function forgetBodiesOf(
  rows: readonly Pick<EndedRow, 'body_id'>[],
  { statements }: LogParts,
): void {
  const bodyIds = rows.map(({ body_id: bodyId }) => bodyId)
  const json = JSON.stringify(bodyIds)
  const forgotten = statements.run(sql`
    DELETE FROM messages WHERE id IN (
      SELECT messages.id
      FROM (SELECT value AS id, count(*) AS uses FROM json_each(${json}) GROUP BY value) AS gone
      CROSS JOIN messages ON messages.id = gone.id
      WHERE deliveries <= uses)`)
  if (forgotten === new Set(bodyIds).size) return
  statements.run(sql`
    UPDATE messages SET deliveries = deliveries - uses
    FROM (SELECT value AS id, count(*) AS uses FROM json_each(${json}) GROUP BY value) AS gone
    WHERE messages.id = gone.id`)
}
