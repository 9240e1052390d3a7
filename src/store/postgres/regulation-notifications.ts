import type { NewEvent } from '../../delivery/index.ts'
import type { RegulationIds } from '../regulations/regulation-engine.ts'
import { firstRow, raw, run, sql, type Script } from '../sql.ts'
import { toStored } from '../stored-text.ts'
import { writeQuery } from './add-statement.ts'
import { changeCounts, wholeStore } from './counts.ts'
import { awaitEvents } from './dialect.ts'

/** The approximate number of deliveries in one statement, which then takes a fraction of a second. */
const deliveriesAtOnceMax = 5_000

const lastId = raw(
  'SELECT CASE WHEN is_called THEN last_value ELSE last_value - 1 END AS id FROM evroute_delivery_ids',
)

/**
 * Reserves consecutive ids permanently, and returns the id before them. Call it in a transaction of its own,
 * because no other transaction can add events until it ends.
 */
export function* reserveIds(count: number): Script<number> {
  yield* awaitEvents()
  const row = yield* firstRow<{ readonly id: number }>(
    sql`SELECT setval('evroute_delivery_ids', (${lastId}) + ${count}::bigint) AS id`,
  )
  return (row?.id ?? 0) - count
}

/**
 * Writes notifications with reserved ids. It does not block adds, because there may be a million
 * notifications. {@link seal} counts them.
 */
export function* writeNotifications(
  notifications: readonly NewEvent[],
  { nowMs, reservedAfterId }: { readonly nowMs: number; readonly reservedAfterId: number },
): Script<void> {
  let id = reservedAfterId
  for (const part of partsOf(notifications)) {
    const query = writeQuery(part, { nowMs, afterId: id })
    yield* run(query)
    id += query.deliveries.length
  }
}

const countSql = changeCounts(
  ['accepted', 'routed', 'filtered', 'deliveries', 'pending'],
  `SELECT ${wholeStore} AS destination_id, $1::bigint AS accepted, $2::bigint AS routed,
     $1::bigint - $2::bigint AS filtered, 0 AS deliveries, 0 AS pending
   UNION ALL
   SELECT destination_id, 0, 0, 0, count(*), count(*)
   FROM unnest($3::text[]) AS written (destination_id) GROUP BY destination_id`,
)

/** Stops adds until the commit, and counts the notifications that were written. */
export function* seal(
  notifications: readonly NewEvent[],
  { reservedAfterId }: { readonly reservedAfterId: number },
): Script<RegulationIds> {
  yield* awaitEvents()
  const row = yield* firstRow<{ readonly id: number }>(lastId)
  const accepted = notifications.length
  const routed = notifications.filter(({ deliveries }) => deliveries.length > 0).length
  const written = notifications.flatMap(({ deliveries }) => deliveries)
  const destinationIds = written.map(({ destinationId }) => toStored(destinationId))
  const values = [accepted, routed, destinationIds]
  // Count last, because counting locks the counts.
  if (accepted > 0) yield* run({ sql: countSql, values })
  return { lastId: row?.id ?? 0, lastNotificationId: reservedAfterId + written.length }
}

function* partsOf(events: readonly NewEvent[]): Generator<readonly NewEvent[]> {
  let [first, deliveries] = [0, 0]
  for (const [index, event] of events.entries()) {
    deliveries += event.deliveries.length
    const isLast = index === events.length - 1
    if (!isLast && Math.max(deliveries, index + 1 - first) < deliveriesAtOnceMax) continue
    yield events.slice(first, index + 1)
    ;[first, deliveries] = [index + 1, 0]
  }
}
