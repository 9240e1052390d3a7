import type { NewEvent } from '../../delivery/index.ts'
import { noteCleaned } from '../regulations/erasure-steps.ts'
import type { ErasureEngine, RegulationIds } from '../regulations/regulation-engine.ts'
import { firstRow, raw, run, sql, type Script } from '../sql.ts'
import { toStored } from '../stored-text.ts'
import { writeQuery } from './add-statement.ts'
import { changeCounts, countChanges, wholeStore } from './counts.ts'
import type { Database } from './database.ts'
import { awaitEvents } from './dialect.ts'
import { isFree, type OwnLeases } from './leases.ts'

/** The approximate number of deliveries in one statement. More would save no time. */
const deliveriesAtOnceMax = 500

const lastId = raw(
  'SELECT CASE WHEN is_called THEN last_value ELSE last_value - 1 END AS id FROM evroute_delivery_ids',
)

/** The tables with rows of users, largest first. */
const erasedTables = [
  'evroute_messages',
  'evroute_deliveries',
  'evroute_requests',
  'evroute_seen',
  'evroute_members',
]

/**
 * Returns the engine that erases users in PostgreSQL. A delivery that a dead process leased is free once its
 * lease has ended.
 *
 * At the end of an erasure VACUUM runs for at most half a minute per table. If it is not permitted, or is not
 * enough, autovacuum does the rest later. VACUUM frees the space of erased rows, but their bytes stay in the
 * file until new rows use the space, or until the operator runs `VACUUM FULL`. Replicas, backups and archived
 * WAL keep the rows until the operator deletes them.
 */
export function erasureEngine(
  parts: Pick<ErasureEngine, 'isReady' | 'announce'> & {
    readonly database: Database
    readonly ownLeases: () => OwnLeases
  },
): ErasureEngine {
  const { database, ownLeases } = parts
  return {
    ...parts,
    reserveIds,
    notify: writeNotifications,
    seal,
    erasedRowsMax: 1_000,
    isLeased: (nowMs) => sql`NOT ${isFree(ownLeases(), nowMs)}`,
    erasedColumns: raw(
      ', is_erased = true, lease_holder = NULL, lease = NULL, leased_until = NULL',
    ),
    forgetAnswers: (given) =>
      run(sql`UPDATE evroute_requests request SET excerpt = '' FROM ${given}
        WHERE request.destination_id = given.destination_id AND request.delivery_id = given.id
          AND request.excerpt <> ''`),
    countChanges,
    leaveNoTraces: async (number) => {
      for (const table of erasedTables) {
        await database.rows(raw(`VACUUM (SKIP_LOCKED) ${table}`)).catch(() => undefined)
      }
      await database.change(() => noteCleaned(number))
      return 'done'
    },
  }
}

/** Reserves consecutive ids permanently, and returns the id before them. No events are added until the commit. */
function* reserveIds(count: number): Script<number> {
  yield* awaitEvents()
  const row = yield* firstRow<{ readonly id: number }>(
    sql`SELECT setval('evroute_delivery_ids', (${lastId}) + ${count}::bigint) AS id`,
  )
  return (row?.id ?? 0) - count
}

/** Writes notifications without blocking adds, because there may be a million. {@link seal} counts them. */
function* writeNotifications(
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

function* seal(
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
