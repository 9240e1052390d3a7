import type {
  DeliveryFilter,
  DiscardRequest,
  ListRequest,
  RetryRequest,
} from '../../delivery/index.ts'
import { discardedReason } from '../../model/index.ts'
import { loggedColumns } from '../log/logged-delivery.ts'
import type { Query, SqlValue } from '../sql.ts'
import { toStored } from '../stored-text.ts'
import { conditionsOf } from '../log/conditions.ts'
import { allDestinations, countRows, inState, ledgerSums, purgedSums } from './counts.ts'
import { isOfUser } from './tables.ts'

/** Reads the ledger and counts the rows in one statement, so that both are of the same moment. */
export const auditSql: string = `
  SELECT counts.*, in_store.* FROM
    (SELECT ${ledgerSums}, ${purgedSums} FROM evroute_counts) counts,
    (SELECT ${inState('pending')} AS counted_pending,
      ${inState('delivered')} AS counted_delivered, ${inState('failed')} AS counted_failed,
      ${inState('expired')} AS counted_expired,
      count(*) FILTER (WHERE message.id IS NULL) AS without_body
    FROM evroute_deliveries LEFT JOIN evroute_messages message ON message.id = body_id) in_store`

/** Counts the rows of tables. A table's rows include those of its partitions. */
export const tableRowsSql: string = `
  SELECT coalesce(parent.relname, own.relname) AS "table",
    sum(stats.n_live_tup)::bigint AS "liveRows", sum(stats.n_dead_tup)::bigint AS "deadRows"
  FROM pg_stat_user_tables AS stats
  JOIN pg_class AS own ON own.oid = stats.relid
  LEFT JOIN pg_inherits ON inhrelid = own.oid
  LEFT JOIN pg_class AS parent ON parent.oid = inhparent
  WHERE own.relname LIKE 'evroute\\_%' AND own.relkind = 'r' AND stats.schemaname = current_schema()
  GROUP BY 1 ORDER BY 1`

/** The index ranges that a retry by hand reads. None has delivered rows. */
const retriedRanges = [
  "state = 'failed' AND state <> 'pending' AND settled_at <= $1 AND NOT is_erased",
  "state = 'expired' AND state <> 'pending' AND settled_at <= $1 AND NOT is_erased",
  `state = 'pending' AND lane = 'retry' AND coalesce(first_attempt_at, 0) <= $1
    AND (leased_until IS NULL OR leased_until <= $1)`,
]

const retriedCounts = countRows(
  {
    pending: "count(*) FILTER (WHERE state <> 'pending')",
    failed: `-${inState('failed')}`,
    expired: `-${inState('expired')}`,
  },
  'picked',
)

/** The deliveries that can be discarded: pending and not leased. */
const discardedRange = `state = 'pending' AND accepted_at <= $1
  AND (leased_until IS NULL OR leased_until <= $1)`

const discardedCounts = countRows({ pending: '-count(*)', failed: 'count(*)' }, 'range_0')

const purgedCounts = countRows(
  {
    purged_delivered: inState('delivered'),
    purged_failed: inState('failed'),
    purged_expired: inState('expired'),
  },
  'gone',
)

/**
 * Deletes deliveries that ended before a time, and each text with its last delivery. It locks the texts
 * before it changes them.
 */
export const purgeEndedSql: string = `
  WITH picked AS MATERIALIZED (
    SELECT old.destination_id, old.id
    FROM (${allDestinations}) destination CROSS JOIN unnest($1::text[]) AS ended (state)
    CROSS JOIN LATERAL (
      SELECT destination_id, id FROM evroute_deliveries
      WHERE destination_id = destination.destination_id AND state = ended.state
        AND state <> 'pending' AND settled_at < $2
      ORDER BY settled_at LIMIT $3
      FOR UPDATE SKIP LOCKED) old
    LIMIT $3
  ), gone AS (
    DELETE FROM evroute_deliveries delivery USING picked
    WHERE delivery.destination_id = picked.destination_id AND delivery.id = picked.id
    RETURNING delivery.destination_id, delivery.state, delivery.body_id
  ), held AS MATERIALIZED (
    SELECT message.id, message.deliveries - uses.count AS left_over
    FROM evroute_messages message
    JOIN (SELECT body_id, count(*)::int AS count FROM gone GROUP BY body_id) uses
      ON uses.body_id = message.id
    ORDER BY message.id FOR UPDATE OF message
  ), kept AS (
    UPDATE evroute_messages message SET deliveries = held.left_over
    FROM held WHERE message.id = held.id AND held.left_over > 0
  ), dropped AS (
    DELETE FROM evroute_messages message
    USING held WHERE message.id = held.id AND held.left_over <= 0
  ), counted AS (${purgedCounts})
  SELECT count(*) FROM gone`

/** Ends the picked deliveries as expired. */
const giveUp = `
  given_up AS (
    UPDATE evroute_deliveries delivery
    SET state = 'expired', reason = $1, settled_at = $2,
      lease_holder = NULL, lease = NULL, leased_until = NULL
    FROM picked
    WHERE delivery.destination_id = picked.destination_id AND delivery.id = picked.id
    RETURNING delivery.destination_id
  ), counted AS (${countRows({ pending: '-count(*)', expired: 'count(*)' }, 'given_up')})
  SELECT destination_id, count(*) FROM given_up GROUP BY destination_id`

const isNotLeased = '(leased_until IS NULL OR leased_until <= $2)'

/** Ends deliveries whose retry window is over. */
export const expireSql: string = `
  WITH picked AS MATERIALIZED (
    SELECT destination_id, id FROM evroute_deliveries
    WHERE state = 'pending' AND expires_at < $2 AND ${isNotLeased}
    ORDER BY expires_at LIMIT $3
    FOR UPDATE SKIP LOCKED
  ), ${giveUp}`

/** Ends deliveries that have waited too long for their first attempt. */
export const abandonSql: string = `
  WITH picked AS MATERIALIZED (
    SELECT old.destination_id, old.id
    FROM (${allDestinations}) destination CROSS JOIN unnest('{manual,first}'::text[]) AS waiting (lane)
    CROSS JOIN LATERAL (
      SELECT destination_id, id FROM evroute_deliveries
      WHERE destination_id = destination.destination_id AND lane = waiting.lane
        AND state = 'pending' AND due_at < $4 AND ${isNotLeased}
      ORDER BY due_at, id LIMIT $3
      FOR UPDATE SKIP LOCKED) old
    LIMIT $3
  ), ${giveUp}`

/** Deletes old messageIds. */
export const forgetSeenSql: string = `
  WITH gone AS (
    DELETE FROM evroute_seen WHERE (source_id, message_id) IN (
      SELECT source_id, message_id FROM evroute_seen WHERE seen_at < $1
      ORDER BY seen_at LIMIT $2 FOR UPDATE SKIP LOCKED)
    RETURNING 1)
  SELECT count(*) FROM gone`

/** Returns the statement that lists deliveries. */
export function listQuery({
  filter,
  limit,
  beforeId = Number.MAX_SAFE_INTEGER,
}: ListRequest): Query {
  const { conditions, destinations, values } = selectionOf(filter, [limit, beforeId])
  const lookedUp = lookedUpBy(filter, values)
  if (lookedUp !== undefined) {
    const isNamed =
      filter.destinationId === undefined ? 'true' : `destination_id = (${destinations})`
    // `OFFSET 0` keeps the planner from using another index.
    const sql = `
      SELECT delivery.* FROM (SELECT ${loggedColumns} FROM evroute_deliveries delivery
        WHERE ${lookedUp} AND id < $2 ORDER BY id DESC OFFSET 0) delivery
      WHERE ${isNamed} ${conditions}
      ORDER BY id DESC LIMIT $1`
    return { sql, values }
  }
  const sql = `
    SELECT listed.* FROM (${destinations}) destination CROSS JOIN LATERAL (
      SELECT ${loggedColumns} FROM evroute_deliveries delivery
      WHERE delivery.destination_id = destination.destination_id AND delivery.id < $2 ${conditions}
      ORDER BY delivery.id DESC LIMIT $1) listed
    ORDER BY listed.id DESC LIMIT $1`
  return { sql, values }
}

/** Returns the condition that finds rows by messageId or user, with an index; undefined for other filters. */
function lookedUpBy({ messageId, userId }: DeliveryFilter, values: SqlValue[]): string | undefined {
  const wanted = messageId ?? userId
  if (wanted === undefined) return undefined
  const position = `$${values.push(toStored(wanted))}::text`
  return messageId === undefined ? isOfUser(position) : `message_id = ${position}`
}

/** Returns the statement that makes deliveries due at once, and counts them. */
export function retryQuery({ nowMs, filter, limit }: RetryRequest): Query {
  const { conditions, destinations, values } = selectionOf(filter, [nowMs, limit])
  const ranges = retriedRanges.map((range, position) => {
    const earlier = retriedRanges.slice(0, position).map((_, index) => `range_${index}`)
    return rangeSql({ position, range, earlier, conditions })
  })
  const names = retriedRanges.map((_, position) => `SELECT * FROM range_${position}`)
  const sql = `
    WITH destination AS MATERIALIZED (${destinations}), ${ranges.join(', ')},
    picked AS (${names.join(' UNION ALL ')}),
    retried AS (
      UPDATE evroute_deliveries delivery
      SET state = 'pending', lane = 'manual', due_at = $1, window_attempts = 0,
        first_attempt_at = NULL, expires_at = NULL, holds = '[]', reason = NULL, settled_at = NULL,
        manual_retries = manual_retries + 1, lease_holder = NULL, lease = NULL, leased_until = NULL
      FROM picked
      WHERE delivery.destination_id = picked.destination_id AND delivery.id = picked.id
      RETURNING 1
    ), counted AS (${retriedCounts})
    SELECT count(*) FROM retried`
  return { sql, values }
}

/** Returns the statement that ends pending deliveries without sending them, and counts them. */
export function discardQuery({ nowMs, filter, limit }: DiscardRequest): Query {
  const { conditions, destinations, values } = selectionOf(filter, [nowMs, limit])
  const picked = rangeSql({ position: 0, range: discardedRange, earlier: [], conditions })
  const sql = `
    WITH destination AS MATERIALIZED (${destinations}), ${picked},
    discarded AS (
      UPDATE evroute_deliveries delivery
      SET state = 'failed', reason = '${discardedReason}', settled_at = $1,
        lease_holder = NULL, lease = NULL, leased_until = NULL
      FROM range_0 picked
      WHERE delivery.destination_id = picked.destination_id AND delivery.id = picked.id
      RETURNING 1
    ), counted AS (${discardedCounts})
    SELECT count(*) FROM discarded`
  return { sql, values }
}

/**
 * Returns the parts of a statement for a filter: its destinations, its other conditions, and all values.
 *
 * @param first - the values before those of the filter
 */
function selectionOf({ destinationId, ...filter }: DeliveryFilter, first: readonly SqlValue[]) {
  const values = [...first]
  const bind = (value: string | number): string => `$${values.push(value)}`
  const conditions = conditionsOf(filter, { bind })
  const destinations =
    destinationId === undefined
      ? allDestinations
      : `SELECT ${bind(toStored(destinationId))}::text AS destination_id`
  return { conditions, destinations, values }
}

/**
 * Returns the part of a statement that locks deliveries of a range, up to the limit less those of earlier
 * ranges.
 */
function rangeSql(parts: {
  readonly position: number
  readonly range: string
  readonly earlier: readonly string[]
  readonly conditions: string
}): string {
  const taken = parts.earlier.map((name) => ` - (SELECT count(*) FROM ${name})`).join('')
  return `range_${parts.position} AS MATERIALIZED (
    SELECT found.* FROM destination CROSS JOIN LATERAL (
      SELECT delivery.destination_id, delivery.id, delivery.state FROM evroute_deliveries delivery
      WHERE delivery.destination_id = destination.destination_id AND ${parts.range} ${parts.conditions}
      LIMIT $2 FOR UPDATE) found
    LIMIT $2${taken})`
}
