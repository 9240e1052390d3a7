import type { NewEvent } from '../../delivery/index.ts'
import type { RegulationIds } from '../regulations/regulation-engine.ts'
import { firstRow, run, type Script } from '../sql.ts'
import { toStored } from '../stored-text.ts'
import { rowsOf, type BatchBody, type BatchDelivery } from './add-statement.ts'
import { changeCounts, wholeStore } from './counts.ts'
import { GivenRows } from './given-rows.ts'
import { awaitEvents } from './dialect.ts'

/** The approximate number of deliveries in one statement, which then takes a fraction of a second. */
const deliveriesAtOnceMax = 5_000

const lastIdSql = `
  SELECT CASE WHEN is_called THEN last_value ELSE last_value - 1 END AS id FROM evroute_delivery_ids`

const reserveSql = `SELECT setval('evroute_delivery_ids', (${lastIdSql}) + $1::bigint) AS id`

const bodies = new GivenRows<BatchBody>('given', 3, {
  uses: ['int', ({ uses }) => uses],
  body: ['text', ({ body }) => body],
})

const deliveries = new GivenRows<BatchDelivery>('given', bodies.next, {
  destination_id: ['text', ({ destinationId }) => destinationId],
  body_position: ['int', ({ bodyPosition }) => bodyPosition],
  source_id: ['text', ({ event }) => event.sourceId],
  message_id: ['text', ({ event }) => event.messageId],
  type: ['text', ({ event }) => event.type],
  user_id: ['text', ({ event }) => event.userId],
})

const events = new GivenRows<NewEvent>('event', deliveries.next, {
  source_id: ['text', ({ sourceId }) => sourceId],
  message_id: ['text', ({ messageId }) => messageId],
})

/** A notification is never a duplicate, even if its messageId was seen. */
const writeSql = `
  WITH seen AS (
    INSERT INTO evroute_seen (source_id, message_id, seen_at)
    SELECT DISTINCT source_id COLLATE "C", message_id COLLATE "C", $1::bigint
    FROM ${events.sql} ORDER BY 1, 2
    ON CONFLICT (source_id, message_id) DO UPDATE SET seen_at = excluded.seen_at
  ), body AS MATERIALIZED (
    SELECT nextval('evroute_message_ids') AS id, position, uses, body
    FROM ${bodies.sql}
  ), stored AS (
    INSERT INTO evroute_messages (id, deliveries, body) SELECT id, uses, body FROM body
  )
  INSERT INTO evroute_deliveries (destination_id, id, body_id, accepted_at, due_at, attempts,
    window_attempts, manual_retries, source_id, message_id, type, user_id, state, lane, holds)
  SELECT destination_id, $2::bigint + given.position, body.id, $1, $1, 0, 0, 0, source_id, message_id, type,
    user_id, 'pending', 'first', '[]'
  FROM ${deliveries.sql} JOIN body ON body.position = body_position`

const countSql = changeCounts(
  ['accepted', 'routed', 'filtered', 'deliveries', 'pending'],
  `SELECT ${wholeStore} AS destination_id, $1::bigint AS accepted, $2::bigint AS routed,
     $1::bigint - $2::bigint AS filtered, 0 AS deliveries, 0 AS pending
   UNION ALL
   SELECT destination_id, 0, 0, 0, count(*), count(*)
   FROM unnest($3::text[]) AS written (destination_id) GROUP BY destination_id`,
)

/**
 * Reserves consecutive ids permanently, and returns the id before them. Call it in a transaction of its own,
 * because no other transaction can add events until it ends.
 */
export function* reserveIds(count: number): Script<number> {
  yield* awaitEvents()
  const row = yield* firstRow<{ readonly id: number }>({ sql: reserveSql, values: [count] })
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
    const rows = rowsOf(part)
    const values = [
      nowMs,
      id,
      ...bodies.values(rows.bodies),
      ...deliveries.values(rows.deliveries),
      ...events.values(part),
    ]
    yield* run({ name: 'write_notifications', sql: writeSql, values })
    id += rows.deliveries.length
  }
}

/** Counts notifications that were written. Call it last in a transaction, because it locks counts. */
function* countWritten(notifications: readonly NewEvent[]): Script<void> {
  if (notifications.length === 0) return
  const routed = notifications.filter(({ deliveries }) => deliveries.length > 0).length
  const destinationIds = notifications.flatMap(({ deliveries }) =>
    deliveries.map(({ destinationId }) => toStored(destinationId)),
  )
  const values = [notifications.length, routed, destinationIds]
  yield* run({ name: 'count_notifications_written', sql: countSql, values })
}

/** Stops adds until the commit, and counts the notifications that were written. */
export function* seal(
  notifications: readonly NewEvent[],
  { reservedAfterId }: { readonly reservedAfterId: number },
): Script<RegulationIds> {
  yield* awaitEvents()
  const row = yield* firstRow<{ readonly id: number }>({ sql: lastIdSql, values: [] })
  yield* countWritten(notifications)
  const deliveries = notifications.reduce((sum, event) => sum + event.deliveries.length, 0)
  return { lastId: row?.id ?? 0, lastNotificationId: reservedAfterId + deliveries }
}

function* partsOf(events: readonly NewEvent[]): Generator<readonly NewEvent[]> {
  let part: NewEvent[] = []
  let deliveries = 0
  for (const event of events) {
    part.push(event)
    deliveries += event.deliveries.length
    if (deliveries < deliveriesAtOnceMax && part.length < deliveriesAtOnceMax) continue
    yield part
    part = []
    deliveries = 0
  }
  if (part.length > 0) yield part
}
