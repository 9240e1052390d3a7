import type {
  DeliveryFilter,
  DiscardRequest,
  EndedCounts,
  PurgeRequest,
  PurgeResult,
  RetryRequest,
} from '../../delivery/index.ts'
import { discardedReason, type GivenUpDeliveries } from '../../model/index.ts'
import { fromStored, toStored } from '../stored-text.ts'
import { allDestinations, countChanges } from './counts.ts'
import type { Database } from './database.ts'
import type { Query, SqlValue } from '../sql/index.ts'
import { conditionsOf } from './delivery-rows.ts'
import type { RequestPartitions } from './request-partitions.ts'

interface CountRow {
  readonly count: number
}

interface GivenUpRow extends CountRow {
  readonly destination_id: string
}

/** The ranges of indexes that a retry by hand reads, so that it skips delivered rows. */
const retriedRanges = [
  "state = 'failed' AND state <> 'pending' AND settled_at <= $1 AND NOT is_erased",
  "state = 'expired' AND state <> 'pending' AND settled_at <= $1 AND NOT is_erased",
  `state = 'pending' AND lane = 'retry' AND coalesce(first_attempt_at, 0) <= $1
    AND (leased_until IS NULL OR leased_until <= $1)`,
]

const retriedCounts = countChanges(
  ['pending', 'failed', 'expired'],
  `SELECT destination_id, count(*) FILTER (WHERE state <> 'pending') AS pending,
     -count(*) FILTER (WHERE state = 'failed') AS failed,
     -count(*) FILTER (WHERE state = 'expired') AS expired
   FROM picked GROUP BY destination_id`,
)

/** The deliveries that can be discarded: those that are pending and not being sent. */
const discardedRange = `state = 'pending' AND accepted_at <= $1
  AND (leased_until IS NULL OR leased_until <= $1)`

const discardedCounts = countChanges(
  ['pending', 'failed'],
  `SELECT destination_id, -count(*) AS pending, count(*) AS failed
   FROM range_0 GROUP BY destination_id`,
)

const purgedCounts = countChanges(
  ['purged_delivered', 'purged_failed', 'purged_expired'],
  `SELECT destination_id, count(*) FILTER (WHERE state = 'delivered') AS purged_delivered,
     count(*) FILTER (WHERE state = 'failed') AS purged_failed,
     count(*) FILTER (WHERE state = 'expired') AS purged_expired
   FROM gone GROUP BY destination_id`,
)

/**
 * A text is deleted with its last delivery. The transaction that deletes a delivery has locked its
 * text by then.
 */
const purgeEndedSql = `
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
  ), counted AS (${countChanges(
    ['pending', 'expired'],
    `SELECT destination_id, -count(*) AS pending, count(*) AS expired
     FROM given_up GROUP BY destination_id`,
  )})
  SELECT destination_id, count(*) FROM given_up GROUP BY destination_id`

const isNotLeased = '(leased_until IS NULL OR leased_until <= $2)'

const expireSql = `
  WITH picked AS MATERIALIZED (
    SELECT destination_id, id FROM evroute_deliveries
    WHERE state = 'pending' AND expires_at < $2 AND ${isNotLeased}
    ORDER BY expires_at LIMIT $3
    FOR UPDATE SKIP LOCKED
  ), ${giveUp}`

const abandonSql = `
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

const forgetSeenSql = `
  WITH gone AS (
    DELETE FROM evroute_seen WHERE (source_id, message_id) IN (
      SELECT source_id, message_id FROM evroute_seen WHERE seen_at < $1
      ORDER BY seen_at LIMIT $2 FOR UPDATE SKIP LOCKED)
    RETURNING 1)
  SELECT count(*) FROM gone`

/** Retries and discards deliveries by hand, and purges. */
export class LogWriter {
  readonly #database: Database
  readonly #partitions: RequestPartitions

  constructor(database: Database, partitions: RequestPartitions) {
    this.#database = database
    this.#partitions = partitions
  }

  /** Makes deliveries due at once and returns their number. */
  retry({ nowMs, filter, limit }: RetryRequest): Promise<number> {
    const { conditions, destinations, values } = selectionOf(filter, [nowMs, limit])
    const ranges = retriedRanges.map((range, place) => {
      const earlier = retriedRanges.slice(0, place).map((_, index) => `range_${index}`)
      return rangeSql({ place, range, earlier, conditions })
    })
    const names = retriedRanges.map((_, place) => `SELECT * FROM range_${place}`)
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
    return this.#count({ sql, values })
  }

  /** Ends pending deliveries without sending them and returns their number. */
  discard({ nowMs, filter, limit }: DiscardRequest): Promise<number> {
    const { conditions, destinations, values } = selectionOf(filter, [nowMs, limit])
    const picked = rangeSql({ place: 0, range: discardedRange, earlier: [], conditions })
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
    return this.#count({ sql, values })
  }

  /** Deletes old rows, of each kind at most the given number. */
  async purge(request: PurgeRequest): Promise<PurgeResult> {
    const { nowMs, deliveredBeforeMs, failedBeforeMs, rowsMax } = request
    const purgeEnded = (states: readonly (keyof EndedCounts)[], beforeMs: number) =>
      this.#count({ name: 'purge', sql: purgeEndedSql, values: [states, beforeMs, rowsMax] })
    const delivered = await purgeEnded(['delivered'], deliveredBeforeMs)
    const failed = await purgeEnded(['failed', 'expired'], failedBeforeMs)
    const { abandonedBeforeMs, messageIdsBeforeMs } = request
    const overdue = await this.#giveUp('window_over', {
      name: 'expire',
      sql: expireSql,
      values: [nowMs, rowsMax],
    })
    const abandoned = await this.#giveUp('abandoned', {
      name: 'abandon',
      sql: abandonSql,
      values: [nowMs, rowsMax - countOf(overdue), abandonedBeforeMs],
    })
    const expired = [...overdue, ...abandoned]
    const seen = await this.#count({
      name: 'forget_seen',
      sql: forgetSeenSql,
      values: [messageIdsBeforeMs, rowsMax],
    })
    const rows = delivered + failed + countOf(expired) + seen
    if (rows === 0) await this.#partitions.drop(request)
    return { rows, expired }
  }

  async #giveUp(
    reason: GivenUpDeliveries['reason'],
    { values, ...query }: Query,
  ): Promise<readonly GivenUpDeliveries[]> {
    const rows = await this.#database.rows<GivenUpRow>({ ...query, values: [reason, ...values] })
    return rows.map(({ destination_id: destinationId, count: deliveries }) => ({
      destinationId: fromStored(destinationId),
      reason,
      deliveries,
    }))
  }

  async #count(query: Query): Promise<number> {
    const [row] = await this.#database.rows<CountRow>(query)
    return row?.count ?? 0
  }
}

function countOf(expired: readonly GivenUpDeliveries[]): number {
  return expired.reduce((sum, { deliveries }) => sum + deliveries, 0)
}

/**
 * The parts of a statement for a filter: its destinations, its other conditions, and the values of
 * both.
 */
function selectionOf(
  filter: DeliveryFilter,
  first: readonly SqlValue[],
): {
  readonly conditions: string
  readonly destinations: string
  readonly values: readonly SqlValue[]
} {
  const { sql: conditions, values } = conditionsOf(filter, first.length + 1)
  const all = [...first, ...values]
  if (filter.destinationId === undefined) {
    return { conditions, destinations: allDestinations, values: all }
  }
  const destinations = `SELECT $${all.length + 1}::text AS destination_id`
  return { conditions, destinations, values: [...all, toStored(filter.destinationId)] }
}

/** Locks deliveries of a range, as many as the ranges before it have left of the limit. */
function rangeSql(parts: {
  readonly place: number
  readonly range: string
  readonly earlier: readonly string[]
  readonly conditions: string
}): string {
  const taken = parts.earlier.map((name) => ` - (SELECT count(*) FROM ${name})`).join('')
  return `range_${parts.place} AS MATERIALIZED (
    SELECT found.* FROM destination CROSS JOIN LATERAL (
      SELECT delivery.destination_id, delivery.id, delivery.state FROM evroute_deliveries delivery
      WHERE delivery.destination_id = destination.destination_id AND ${parts.range} ${parts.conditions}
      LIMIT $2 FOR UPDATE) found
    LIMIT $2${taken})`
}
