import type { AddRequest, NewEvent, Room } from '../../delivery/index.ts'
import { refusedReason } from '../added-deliveries.ts'
import { raw, type Query } from '../sql.ts'
import { toStored } from '../stored-text.ts'
import { isSuppressed } from '../suppressions.ts'
import { changeCounts, wholeStore } from './counts.ts'
import { GivenRows } from './given-rows.ts'
import type { LeaseTerm } from './leases.ts'
import { holdGate } from './dialect.ts'

/** An event or a delivery. A delivery is `refused` if its destination's backlog is full. */
export interface AddedRow {
  readonly kind: 'fresh' | 'suppressed' | 'leased' | 'refused'
  /** The position among the batch's events or deliveries, from 1. */
  readonly position: number
  /** The id of the delivery; 0 for an event. */
  readonly id: number
}

interface BatchDelivery {
  readonly deliveryIndex: number
  readonly destinationId: string
  readonly backlogMax?: number | undefined
  readonly eventPosition: number
  readonly bodyPosition: number
}

/** A body that one or more deliveries of an event share. */
interface BatchBody {
  readonly eventPosition: number
  readonly body: string
  uses: number
}

/** A statement that adds a batch, and the batch's deliveries by position. */
interface AddQuery extends Query {
  readonly deliveries: readonly BatchDelivery[]
}

const events = new GivenRows<NewEvent>('event', 9, {
  source_id: ['text', ({ sourceId }) => sourceId],
  message_id: ['text', ({ messageId }) => messageId],
  type: ['text', ({ type }) => type],
  user_id: ['text', ({ userId }) => userId],
  previous_id: ['text', ({ previousId }) => previousId],
  is_routed: ['bool', ({ deliveries }) => deliveries.length > 0],
})

const bodies = new GivenRows<BatchBody>('given', events.next, {
  event_position: ['int', ({ eventPosition }) => eventPosition],
  uses: ['int', ({ uses }) => uses],
  body: ['text', ({ body }) => body],
})

const deliveries = new GivenRows<BatchDelivery>('given', bodies.next, {
  event_position: ['int', ({ eventPosition }) => eventPosition],
  body_position: ['int', ({ bodyPosition }) => bodyPosition],
  destination_id: ['text', ({ destinationId }) => destinationId],
  backlog_max: ['bigint', ({ backlogMax }) => backlogMax],
})

const rooms = new GivenRows<Room>('room', deliveries.next, {
  destination_id: ['text', ({ destinationId }) => destinationId],
  deliveries_max: ['bigint', ({ deliveriesMax }) => deliveriesMax],
})

const counted = changeCounts(
  ['accepted', 'routed', 'filtered', 'duplicate', 'suppressed', 'deliveries', 'pending', 'failed'],
  `SELECT ${wholeStore} AS destination_id, (SELECT count(*) FROM given) AS accepted,
     count(*) FILTER (WHERE is_routed) AS routed, count(*) FILTER (WHERE NOT is_routed) AS filtered,
     (SELECT count(*) FROM given WHERE NOT is_suppressed) - count(*) AS duplicate,
     (SELECT count(*) FROM dropped) AS suppressed, 0 AS deliveries, 0 AS pending, 0 AS failed
   FROM fresh
   UNION ALL
   SELECT destination_id, 0, 0, 0, 0, 0, count(*), count(*) FILTER (WHERE NOT is_refused),
     count(*) FILTER (WHERE is_refused)
   FROM delivery GROUP BY destination_id`,
)

const isDropped = (userId: string): string =>
  isSuppressed(raw('event.source_id'), raw(`event.${userId}`)).sql
const suppressed = `type <> 'delete' AND (${isDropped('user_id')} OR ${isDropped('previous_id')})`

/**
 * Delivery ids follow `$3`, or come from the sequence if `$3` is null. Body ids are an array, not rows: the planner
 * would underestimate the number of rows, and compare each delivery with every body.
 */
const stored = `
  given AS MATERIALIZED (
    SELECT *, ${suppressed} AS is_suppressed
    FROM ${events.sql}
  ), dropped AS (
    SELECT position FROM given WHERE is_suppressed
  ), event AS MATERIALIZED (
    SELECT DISTINCT ON (source_id COLLATE "C", message_id COLLATE "C") * FROM given
    WHERE NOT is_suppressed ORDER BY source_id COLLATE "C", message_id COLLATE "C", position
  ), seen AS (
    INSERT INTO evroute_seen AS known (source_id, message_id, seen_at)
    SELECT source_id, message_id, $1 FROM event
    ORDER BY source_id COLLATE "C", message_id COLLATE "C"
    ON CONFLICT (source_id, message_id) DO UPDATE SET seen_at = excluded.seen_at
      WHERE known.seen_at < $2
    RETURNING source_id, message_id
  ), fresh AS MATERIALIZED (
    SELECT event.* FROM event JOIN seen USING (source_id, message_id)
  ), body AS MATERIALIZED (
    SELECT array_agg(nextval('evroute_message_ids')) AS ids FROM unnest($${events.next}::int[])
  ), stored AS (
    INSERT INTO evroute_messages (id, deliveries, body)
    SELECT (SELECT ids FROM body)[given.position], given.uses, given.body
    FROM ${bodies.sql}
    WHERE given.event_position IN (SELECT position FROM fresh)
  ), backlog AS MATERIALIZED (
    SELECT destination_id, sum(pending) AS pending FROM evroute_counts
    WHERE destination_id = ANY ($7::text[]) GROUP BY destination_id
  ), ordered AS (
    SELECT given.position, given.destination_id, (SELECT ids FROM body)[given.body_position] AS body_id,
      row_number() OVER same AS number, coalesce(room.deliveries_max, 0) AS leased_max,
      coalesce(row_number() OVER same > given.backlog_max - coalesce(backlog.pending, 0), false)
        AS is_refused,
      fresh.source_id, fresh.message_id, fresh.type, fresh.user_id, fresh.previous_id
    FROM ${deliveries.sql}
    JOIN fresh ON fresh.position = given.event_position
    LEFT JOIN ${rooms.sql} ON room.destination_id = given.destination_id
    LEFT JOIN backlog ON backlog.destination_id = given.destination_id
    WINDOW same AS (PARTITION BY given.destination_id ORDER BY given.position)
    ORDER BY given.position
  ), delivery AS MATERIALIZED (
    SELECT coalesce($3::bigint + position, nextval('evroute_delivery_ids')) AS id, ordered.*,
      number <= leased_max AND NOT is_refused AS is_leased
    FROM ordered
  ), added AS (
    INSERT INTO evroute_deliveries (destination_id, id, body_id, accepted_at, due_at, lease_holder, lease,
      leased_until, attempts, window_attempts, manual_retries, source_id, message_id, type, user_id,
      previous_id, state, reason, settled_at, lane, holds, traceparent)
    SELECT destination_id, id, body_id, $1, $1, CASE WHEN is_leased THEN $4::bigint END,
      CASE WHEN is_leased THEN $5::bigint END, CASE WHEN is_leased THEN $6::bigint END, 0, 0, 0,
      source_id, message_id, type, user_id, previous_id,
      CASE WHEN is_refused THEN 'failed' ELSE 'pending' END,
      CASE WHEN is_refused THEN '${refusedReason}' END, CASE WHEN is_refused THEN $1::bigint END,
      'first', '[]', $8::text
    FROM delivery
  )`

/**
 * Adds a batch in one statement. If two transactions add the same messageId, the first to insert it stores the
 * event; the other waits and finds a duplicate. All transactions lock messageIds in the same order. If a batch
 * repeats a messageId, only its first unsuppressed event can be stored.
 */
const sql = `
  WITH ${holdGate}, ${stored}, counted AS (${counted})
  SELECT 'fresh' AS kind, position, 0 AS id FROM fresh
  UNION ALL
  SELECT 'suppressed', position, 0 FROM dropped
  UNION ALL
  SELECT CASE WHEN is_refused THEN 'refused' ELSE 'leased' END, position, id FROM delivery
  WHERE is_leased OR is_refused`

/** Adds events without {@link holdGate}, and without counting them. */
const writeSql = `WITH ${stored} SELECT FROM fresh`

/** Returns the statement that adds a batch and leases as many of its deliveries as the batch allows. */
export function addQuery(batch: AddRequest, lease: LeaseTerm): AddQuery {
  const { values, deliveries } = valuesOf(batch, lease, null)
  return { name: 'add', sql, values, deliveries }
}

/**
 * Returns the statement that writes events with consecutive delivery ids, even if their messageIds were seen.
 * Leases nothing, and leaves counting to the caller.
 */
export function writeQuery(
  events: readonly NewEvent[],
  { nowMs, afterId }: { readonly nowMs: number; readonly afterId: number },
): AddQuery {
  const batch = { nowMs, seenSinceMs: Number.MAX_SAFE_INTEGER, events, handOver: [] }
  const { values, deliveries } = valuesOf(batch, { holder: 0, number: 0, untilMs: 0 }, afterId)
  return { name: 'write_events', sql: writeSql, values, deliveries }
}

function valuesOf(
  batch: AddRequest,
  lease: LeaseTerm,
  afterId: number | null,
): Pick<AddQuery, 'values' | 'deliveries'> {
  const rows = rowsOf(batch.events)
  const bounded = rows.deliveries.filter(({ backlogMax }) => backlogMax !== undefined)
  const boundedIds = new Set(bounded.map(({ destinationId }) => toStored(destinationId)))
  const values = [
    batch.nowMs,
    batch.seenSinceMs,
    afterId,
    lease.holder,
    lease.number,
    lease.untilMs,
    [...boundedIds],
    batch.traceparent ?? null,
    ...events.values(batch.events),
    ...bodies.values(rows.bodies),
    ...deliveries.values(rows.deliveries),
    ...rooms.values(batch.handOver),
  ]
  return { values, deliveries: rows.deliveries }
}

function rowsOf(events: readonly NewEvent[]): {
  readonly bodies: readonly BatchBody[]
  readonly deliveries: readonly BatchDelivery[]
} {
  const bodies: BatchBody[] = []
  const deliveries: BatchDelivery[] = []
  for (const [index, event] of events.entries()) {
    const positions = new Map<string, number>()
    const eventPosition = index + 1
    for (const [deliveryIndex, { destinationId, body, backlogMax }] of event.deliveries.entries()) {
      const bodyPosition = positions.get(body) ?? bodies.push({ eventPosition, body, uses: 0 })
      positions.set(body, bodyPosition)
      const row = bodies[bodyPosition - 1]
      if (row !== undefined) row.uses++
      deliveries.push({ deliveryIndex, destinationId, backlogMax, eventPosition, bodyPosition })
    }
  }
  return { bodies, deliveries }
}
