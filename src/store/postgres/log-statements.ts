import type { DeliveryFilter, ListRequest } from '../../delivery/index.ts'
import { allDestinations, conditionsOf, destinationsOf } from '../log/log-changes.ts'
import { bodyStartFrom, loggedColumns } from '../log/logged-delivery.ts'
import { raw, sql, type Sql } from '../sql.ts'
import { toStored } from '../stored-text.ts'
import { countRows, inState, ledgerSums, purgedSums } from './counts.ts'
import { isOfUser } from './tables.ts'

/** Reads the ledger and counts the rows in one statement, so that both show the same moment. */
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

const purgedCounts = countRows(
  {
    purged_delivered: inState('delivered'),
    purged_failed: inState('failed'),
    purged_expired: inState('expired'),
  },
  'gone',
)

/**
 * Deletes deliveries that ended before a time, and each body together with its last delivery. It locks the
 * bodies before it changes them.
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

/** Deletes old messageIds. */
export const forgetSeenSql: string = `
  WITH gone AS (
    DELETE FROM evroute_seen WHERE (source_id, message_id) IN (
      SELECT source_id, message_id FROM evroute_seen WHERE seen_at < $1
      ORDER BY seen_at LIMIT $2 FOR UPDATE SKIP LOCKED)
    RETURNING 1)
  SELECT count(*) FROM gone`

/**
 * Returns the statement that lists deliveries. It reads only the bodies of the deliveries that it returns.
 */
export function listQuery({ filter, limit, beforeId = Number.MAX_SAFE_INTEGER }: ListRequest): Sql {
  const { destinationId, ...others } = filter
  const columns = raw(`${loggedColumns}, body_id`)
  const lookedUp = lookedUpBy(filter)
  // `OFFSET 0` keeps the planner from using a different index.
  const page =
    lookedUp === undefined
      ? sql`
        SELECT listed.* FROM (${destinationsOf(destinationId)}) destination CROSS JOIN LATERAL (
          SELECT ${columns} FROM evroute_deliveries delivery
          WHERE delivery.destination_id = destination.destination_id
            AND delivery.id < ${beforeId} ${conditionsOf(others)}
          ORDER BY delivery.id DESC LIMIT ${limit}) listed
        ORDER BY listed.id DESC LIMIT ${limit}`
      : sql`
        SELECT delivery.* FROM (SELECT ${columns} FROM evroute_deliveries delivery
          WHERE ${lookedUp} AND id < ${beforeId} ORDER BY id DESC OFFSET 0) delivery
        WHERE true ${conditionsOf(filter)} ORDER BY id DESC LIMIT ${limit}`
  const bodyStart = raw(bodyStartFrom('evroute_messages', 'listed.body_id'))
  return sql`SELECT listed.*, ${bodyStart} FROM (${page}) listed ORDER BY id DESC`
}

/** Returns the condition that finds rows by messageId or user in an index; undefined for other filters. */
function lookedUpBy({ messageId, userId }: DeliveryFilter): Sql | undefined {
  if (messageId !== undefined) return sql`message_id = ${toStored(messageId)}`
  return userId === undefined ? undefined : isOfUser(toStored(userId))
}
