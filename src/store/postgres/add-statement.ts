import type { AddRequest, NewEvent } from '../../delivery/index.ts'
import { refusedReason } from '../refused-deliveries.ts'
import { toStored, toStoredOrNull } from '../stored-text.ts'
import { countChanges, wholeStore } from './counts.ts'
import type { Query } from '../sql/index.ts'
import type { LeaseTerm } from './lease-term.ts'
import { holdGate, isSuppressed } from './suppressions.ts'

/**
 * A row of the answer. It is an event that is a duplicate or was dropped because its user is
 * suppressed, by its place in the batch; or a delivery that was leased, or failed because the backlog
 * of its destination is full, by its place among the deliveries of the batch.
 */
export interface AddedRow {
  readonly kind: 'fresh' | 'suppressed' | 'leased' | 'refused'
  readonly place: number
  /** The id of the delivery; 0 for an event. */
  readonly id: number
}

/** A delivery of a batch. */
export interface BatchDelivery {
  readonly event: NewEvent
  readonly destinationId: string
  readonly body: string
  readonly backlogMax?: number | undefined
}

/** A statement, and the meaning of the places in its answer. */
export interface AddQuery extends Query {
  readonly deliveries: readonly BatchDelivery[]
}

/** The rows of events, texts and deliveries, as columns. Places link them. */
export interface BatchRows {
  readonly events: { readonly place: number; readonly event: NewEvent }[]
  readonly bodies: { readonly eventPlace: number; readonly body: string; uses: number }[]
  readonly deliveries: (BatchDelivery & { eventPlace: number; bodyPlace: number })[]
}

const counted = countChanges(
  ['accepted', 'routed', 'filtered', 'duplicate', 'suppressed', 'deliveries', 'pending', 'failed'],
  `SELECT ${wholeStore} AS destination_id, $17::bigint AS accepted,
     count(*) FILTER (WHERE is_routed) AS routed, count(*) FILTER (WHERE NOT is_routed) AS filtered,
     $17::bigint - count(*) - (SELECT count(*) FROM dropped) AS duplicate,
     (SELECT count(*) FROM dropped) AS suppressed, 0 AS deliveries, 0 AS pending, 0 AS failed
   FROM fresh
   UNION ALL
   SELECT destination_id, 0, 0, 0, 0, 0, count(*), count(*) FILTER (WHERE NOT is_refused),
     count(*) FILTER (WHERE is_refused)
   FROM delivery GROUP BY destination_id`,
)

const suppressed = `type <> 'delete' AND ${isSuppressed('event.source_id', ['event.user_id', 'event.previous_id'])}`

/**
 * Adds a batch in one statement. Of two transactions with the same messageId, the one that inserts it
 * first has the event; the other waits and finds a duplicate. All of them lock messageIds in the same
 * order. Of several events with one messageId in a batch, the first that is not dropped is taken.
 */
const sql = `
  WITH ${holdGate}, given AS MATERIALIZED (
    SELECT *, ${suppressed} AS is_suppressed
    FROM unnest($1::int[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bool[], $21::text[])
      AS event (place, source_id, message_id, type, user_id, is_routed, previous_id)
  ), dropped AS (
    SELECT place FROM given WHERE is_suppressed
  ), event AS MATERIALIZED (
    SELECT DISTINCT ON (source_id COLLATE "C", message_id COLLATE "C") * FROM given
    WHERE NOT is_suppressed ORDER BY source_id COLLATE "C", message_id COLLATE "C", place
  ), seen AS (
    INSERT INTO evroute_seen AS known (source_id, message_id, seen_at)
    SELECT source_id, message_id, $15 FROM event
    ORDER BY source_id COLLATE "C", message_id COLLATE "C"
    ON CONFLICT (source_id, message_id) DO UPDATE SET seen_at = excluded.seen_at
      WHERE known.seen_at < $16
    RETURNING source_id, message_id
  ), fresh AS MATERIALIZED (
    SELECT event.* FROM event JOIN seen USING (source_id, message_id)
  ), body AS MATERIALIZED (
    SELECT nextval('evroute_message_ids') AS id, place
    FROM unnest($7::int[]) WITH ORDINALITY AS body (event_place, place)
    WHERE event_place IN (SELECT place FROM fresh)
  ), stored AS (
    INSERT INTO evroute_messages (id, deliveries, body)
    SELECT body.id, given.uses, given.body
    FROM unnest($8::int[], $9::text[]) WITH ORDINALITY AS given (uses, body, place)
    JOIN body USING (place)
  ), backlog AS MATERIALIZED (
    SELECT destination_id, sum(pending) AS pending FROM evroute_counts
    WHERE destination_id = ANY ($22::text[]) GROUP BY destination_id
  ), ordered AS (
    SELECT given.place, given.destination_id, body.id AS body_id,
      row_number() OVER same AS number, coalesce(room.deliveries_max, 0) AS leased_max,
      coalesce(row_number() OVER same > given.backlog_max - coalesce(backlog.pending, 0), false)
        AS is_refused,
      fresh.source_id, fresh.message_id, fresh.type, fresh.user_id, fresh.previous_id
    FROM unnest($10::int[], $11::int[], $12::text[], $23::bigint[])
      WITH ORDINALITY AS given (event_place, body_place, destination_id, backlog_max, place)
    JOIN fresh ON fresh.place = given.event_place
    JOIN body ON body.place = given.body_place
    LEFT JOIN unnest($13::text[], $14::bigint[]) AS room (destination_id, deliveries_max)
      ON room.destination_id = given.destination_id
    LEFT JOIN backlog ON backlog.destination_id = given.destination_id
    WINDOW same AS (PARTITION BY given.destination_id ORDER BY given.place)
    ORDER BY given.place
  ), delivery AS MATERIALIZED (
    SELECT nextval('evroute_delivery_ids') AS id, ordered.*,
      number <= leased_max AND NOT is_refused AS is_leased
    FROM ordered
  ), added AS (
    INSERT INTO evroute_deliveries (destination_id, id, body_id, accepted_at, due_at, lease_holder, lease,
      leased_until, attempts, window_attempts, manual_retries, source_id, message_id, type, user_id,
      previous_id, state, reason, settled_at, lane, holds)
    SELECT destination_id, id, body_id, $15, $15, CASE WHEN is_leased THEN $18::bigint END,
      CASE WHEN is_leased THEN $19::bigint END, CASE WHEN is_leased THEN $20::bigint END, 0, 0, 0,
      source_id, message_id, type, user_id, previous_id,
      CASE WHEN is_refused THEN 'failed' ELSE 'pending' END,
      CASE WHEN is_refused THEN '${refusedReason}' END, CASE WHEN is_refused THEN $15::bigint END,
      'first', '[]'
    FROM delivery
  ), counted AS (${counted})
  SELECT 'fresh' AS kind, place, 0 AS id FROM fresh
  UNION ALL
  SELECT 'suppressed', place, 0 FROM dropped
  UNION ALL
  SELECT CASE WHEN is_refused THEN 'refused' ELSE 'leased' END, place::int, id FROM delivery
  WHERE is_leased OR is_refused`

/** Adds a batch and leases what there is room for. */
export function addQuery(batch: AddRequest, lease: LeaseTerm): AddQuery {
  const { events, bodies, deliveries } = rowsOf(batch.events)
  const bounded = deliveries.filter(({ backlogMax }) => backlogMax !== undefined)
  const boundedIds = new Set(bounded.map(({ destinationId }) => destinationId))
  const values = [
    events.map(({ place }) => place),
    events.map(({ event }) => toStored(event.sourceId)),
    events.map(({ event }) => toStored(event.messageId)),
    events.map(({ event }) => event.type),
    events.map(({ event }) => toStoredOrNull(event.userId)),
    events.map(({ event }) => event.deliveries.length > 0),
    bodies.map(({ eventPlace }) => eventPlace),
    bodies.map(({ uses }) => uses),
    bodies.map(({ body }) => toStored(body)),
    deliveries.map(({ eventPlace }) => eventPlace),
    deliveries.map(({ bodyPlace }) => bodyPlace),
    deliveries.map(({ destinationId }) => toStored(destinationId)),
    batch.handOver.map(({ destinationId }) => toStored(destinationId)),
    batch.handOver.map(({ deliveriesMax }) => deliveriesMax),
    batch.nowMs,
    batch.seenSinceMs,
    batch.events.length,
    lease.holder,
    lease.number,
    lease.untilMs,
    events.map(({ event }) => toStoredOrNull(event.previousId ?? null)),
    [...boundedIds].map(toStored),
    deliveries.map(({ backlogMax }) => backlogMax ?? null),
  ]
  return { name: 'add', sql, values, deliveries }
}

/** The rows of some events: each text of an event once. */
export function rowsOf(events: readonly NewEvent[]): BatchRows {
  const rows: BatchRows = {
    events: events.map((event, place) => ({ place, event })),
    bodies: [],
    deliveries: [],
  }
  for (const [place, event] of events.entries()) addDeliveries(rows, event, place)
  return rows
}

/** Destinations that get the same text share its row. Places begin at 1, as in SQL. */
function addDeliveries({ bodies, deliveries }: BatchRows, event: NewEvent, place: number): void {
  const places = new Map<string, number>()
  for (const { destinationId, body, backlogMax } of event.deliveries) {
    const bodyPlace = places.get(body) ?? bodies.push({ eventPlace: place, body, uses: 0 })
    places.set(body, bodyPlace)
    const row = bodies[bodyPlace - 1]
    if (row !== undefined) row.uses++
    deliveries.push({ event, destinationId, body, backlogMax, eventPlace: place, bodyPlace })
  }
}
