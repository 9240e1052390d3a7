import type {
  DeliveryFilter,
  DeliveryLog,
  DeliveryStore,
  DueTime,
  EndedCounts,
  ListRequest,
  PurgeRequest,
  PurgeResult,
  StoreAudit,
} from '../../delivery/index.ts'
import {
  allDestinations,
  conditionsOf,
  countLost,
  countOf,
  destinationsOf,
  discard,
  giveUp,
  retry,
  type LogEngine,
} from '../log/log-changes.ts'
import { listedColumns, loggedDelivery, storyOf, type LoggedRow } from '../log/logged-delivery.ts'
import { isPurgeable } from '../regulations/regulation-notifications.ts'
import { firstRow, raw, sql, type Query, type Script, type Sql } from '../sql.ts'
import { toStored } from '../stored-text.ts'
import type { TableRows } from '../store.ts'
import { countChanges, countRows, inState, ledgerSums, purgedSums } from './counts.ts'
import type { Database } from './database.ts'
import { dialect } from './dialect.ts'
import type { RequestPartitions } from './request-partitions.ts'
import type { ServerClock } from './server-clock.ts'

/** Reads the ledger and counts the rows in one statement, which sees one snapshot. */
const auditSql = `
  SELECT to_json(ledger) AS ledger, to_json(purged) AS purged, to_json(counted) AS counted FROM
    (SELECT ${ledgerSums} FROM evroute_counts) ledger,
    (SELECT ${purgedSums} FROM evroute_counts) purged,
    (SELECT ${inState('pending')} AS pending, ${inState('delivered')} AS delivered,
      ${inState('failed')} AS failed, ${inState('expired')} AS expired,
      count(*) FILTER (WHERE message.id IS NULL) AS without_body
    FROM evroute_deliveries LEFT JOIN evroute_messages message ON message.id = body_id) counted`

interface AuditRow extends Pick<StoreAudit, 'ledger' | 'purged'> {
  readonly counted: StoreAudit['counted'] & { readonly without_body: number }
}

/** Counts the rows of tables. A table's rows include those of its partitions. */
const tableRowsSql = `
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
 * Deletes deliveries that ended before a time, and each body together with its last delivery. Locks the bodies
 * before changing them.
 */
const purgeEndedSql = `
  WITH picked AS MATERIALIZED (
    SELECT old.destination_id, old.id
    FROM (${allDestinations}) destination CROSS JOIN unnest($1::text[]) AS ended (state)
    CROSS JOIN LATERAL (
      SELECT destination_id, id FROM evroute_deliveries
      WHERE destination_id = destination.destination_id AND state = ended.state
        AND state <> 'pending' AND settled_at < $2 AND (state = 'delivered' OR ${isPurgeable.sql})
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

const forgetSeenSql = `
  WITH gone AS (
    DELETE FROM evroute_seen WHERE (source_id, message_id) IN (
      SELECT source_id, message_id FROM evroute_seen WHERE seen_at < $1
      ORDER BY seen_at LIMIT $2 FOR UPDATE SKIP LOCKED)
    RETURNING 1)
  SELECT count(*) FROM gone`

/** PostgreSQL's parts of retrying, discarding and expiring deliveries. */
export const logEngine: LogEngine = {
  dialect,
  countChanges,
  isUnleased: (nowMs) => sql`(leased_until IS NULL OR leased_until <= ${nowMs})`,
  releasedColumns: raw(', lease_holder = NULL, lease = NULL, leased_until = NULL'),
}

interface LogParts {
  readonly reading: Database
  /** Connections to the same database as `reading`, for writes. */
  readonly working: Database
  readonly partitions: RequestPartitions
  readonly clock: ServerClock
  /** Called with the lanes where a retry made deliveries due; without an argument if they may be in any lane. */
  readonly announce: (dueTimes?: readonly DueTime[]) => void
}

/** Returns the delivery log of a database, for services and commands. */
export function deliveryLog(
  parts: LogParts,
): Omit<DeliveryLog, 'close'> &
  Pick<DeliveryStore, 'purge'> &
  Readonly<Record<'tableRows', () => Promise<readonly TableRows[]>>> {
  const { reading, working, clock, announce } = parts
  const change = <Result>(script: () => Script<Result>): Promise<Result> =>
    clock.inAgreement(() => working.change(script))
  return {
    list: async (request) => {
      const rows = await reading.rows<LoggedRow>(listQuery(request))
      return rows.map(loggedDelivery)
    },
    story: ({ destinationId, id }) => {
      const ofDelivery = sql`destination_id = ${toStored(destinationId)} AND delivery_id = ${id}`
      return reading.read(() => storyOf({ destinationId, id }, ofDelivery))
    },
    retry: async (request) => {
      const result = await change(() => retry(logEngine, request))
      const { destinationId } = request.filter
      const due = { lane: 'manual', dueAtMs: request.nowMs } as const
      const dueTimes = destinationId === undefined ? undefined : [{ destinationId, ...due }]
      if (result.deliveries > 0) announce(dueTimes)
      return result
    },
    countLost: (request) => reading.read(() => countLost(request)),
    discard: (request) => change(() => discard(logEngine, request)),
    purge: (request) => clock.inAgreement(() => purge(request, parts)),
    audit: oneAtATime(() => audit(reading)),
    // From the server's statistics, which lag a little.
    tableRows: () => reading.rows<TableRows>({ sql: tableRowsSql, values: [] }),
  }
}

/**
 * Returns a function that runs one audit at a time, because each reads every delivery. The next audit begins once the
 * current one has ended. Calls made until then share it.
 */
function oneAtATime(audit: () => Promise<StoreAudit>): () => Promise<StoreAudit> {
  let running: Promise<unknown> = Promise.resolve()
  let next: Promise<StoreAudit> | undefined
  return () => {
    next ??= running.then(() => {
      next = undefined
      const audited = audit()
      running = audited.catch(() => undefined)
      return audited
    })
    return next
  }
}

async function audit(database: Database): Promise<StoreAudit> {
  const read = (): Script<AuditRow | undefined> => firstRow({ sql: auditSql, values: [] })
  const row = await database.change(read, { isLong: true })
  if (row === undefined) throw new Error('the audit returned nothing')
  const { ledger, purged, counted } = row
  const { without_body: withoutBody, ...states } = counted
  return { ledger, counted: states, purged, withoutBody }
}

async function purge(
  request: PurgeRequest,
  { working, partitions }: Pick<LogParts, 'working' | 'partitions'>,
): Promise<PurgeResult> {
  const { deliveredBeforeMs, failedBeforeMs, messageIdsBeforeMs, rowsMax } = request
  const count = async (query: Query): Promise<number> => {
    const [row] = await working.rows<{ readonly count: number }>(query)
    return row?.count ?? 0
  }
  const purgeEnded = (states: readonly (keyof EndedCounts)[], beforeMs: number) =>
    count({ name: 'purge', sql: purgeEndedSql, values: [states, beforeMs, rowsMax] })
  const delivered = await purgeEnded(['delivered'], deliveredBeforeMs)
  const failed = await purgeEnded(['failed', 'expired'], failedBeforeMs)
  const expired = await working.change(() => giveUp(logEngine, request))
  const values = [messageIdsBeforeMs, rowsMax]
  const seen = await count({ name: 'forget_seen', sql: forgetSeenSql, values })
  const rows = delivered + failed + countOf(expired) + seen
  if (rows === 0) await partitions.drop(request)
  return { rows, expired }
}

/** Returns the statement that lists deliveries. It reads bodies only of the deliveries that it returns. */
export function listQuery({ filter, limit, beforeId = Number.MAX_SAFE_INTEGER }: ListRequest): Sql {
  const { destinationId, ...others } = filter
  const lookedUp = lookedUpBy(filter)
  // `OFFSET 0` keeps the planner from using a different index.
  const page =
    lookedUp === undefined
      ? sql`
        SELECT listed.* FROM (${destinationsOf(destinationId)}) destination CROSS JOIN LATERAL (
          SELECT * FROM evroute_deliveries delivery
          WHERE delivery.destination_id = destination.destination_id
            AND delivery.id < ${beforeId} ${conditionsOf(others, dialect)}
          ORDER BY delivery.id DESC LIMIT ${limit}) listed
        ORDER BY listed.id DESC LIMIT ${limit}`
      : sql`
        SELECT * FROM (SELECT * FROM evroute_deliveries delivery
          WHERE ${lookedUp} AND id < ${beforeId} ORDER BY id DESC OFFSET 0) delivery
        WHERE true ${conditionsOf(filter, dialect)} ORDER BY id DESC LIMIT ${limit}`
  return sql`SELECT ${raw(listedColumns)} FROM (${page}) delivery ORDER BY id DESC`
}

/** Returns the condition that finds rows by messageId or user in an index; undefined for other filters. */
function lookedUpBy({ messageId, userId }: DeliveryFilter): Sql | undefined {
  if (messageId !== undefined) return sql`message_id = ${toStored(messageId)}`
  return userId === undefined ? undefined : dialect.isOfUser(toStored(userId))
}
