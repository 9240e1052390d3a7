import type { NewEvent } from '../../delivery/index.ts'
import { noteCleaned, withTraces } from '../regulations/erasure-steps.ts'
import type { ErasureEngine } from '../regulations/regulation-engine.ts'
import { firstRow, raw, run, sql, type Script } from '../sql.ts'
import { toStored } from '../stored-text.ts'
import { writeQuery } from './add-statement.ts'
import { changeCounts, wholeStore } from './counts.ts'
import type { Database } from './database.ts'
import { logEngine } from './delivery-log.ts'
import { awaitEvents, dialect } from './dialect.ts'
import { isFree, type OwnLeases } from './leases.ts'

/** About how many deliveries to write in one statement. More would save no time. */
const deliveriesAtOnceMax = 500

const lastId = raw(
  'SELECT CASE WHEN is_called THEN last_value ELSE last_value - 1 END AS id FROM evroute_delivery_ids',
)

/** The tables with data about users, largest first. */
const erasedTables = [
  'evroute_messages',
  'evroute_deliveries',
  'evroute_requests',
  'evroute_seen',
  'evroute_members',
]

/**
 * Returns the PostgreSQL parts of storing and executing regulations. Deliveries that a dead process leased are
 * erased once their leases have expired.
 *
 * To clean the files, VACUUM runs for at most half a minute per table. If it is not permitted or not enough,
 * autovacuum does the rest later. VACUUM frees the space of erased rows, but their bytes stay in the files until
 * new rows use the space, or the operator runs `VACUUM FULL`. Replicas, backups and archived WAL keep the rows
 * until the operator deletes them.
 */
export function erasureEngine(
  parts: Pick<ErasureEngine, 'isReady' | 'announce'> & {
    readonly database: Database
    readonly ownLeases: () => OwnLeases
  },
): ErasureEngine {
  const { database, ownLeases } = parts
  return {
    ...logEngine,
    ...parts,
    notify: writeNotifications,
    seal,
    erasedRowsMax: 1_000,
    isUnleased: (nowMs) => isFree(ownLeases(), nowMs),
    erasedColumns: raw(', is_erased = true'),
    forgetAnswers: (given) =>
      run(sql`UPDATE evroute_requests request SET excerpt = '' FROM ${given}
        WHERE request.destination_id = given.destination_id AND request.delivery_id = given.id
          AND request.excerpt <> ''`),
    cleanFiles: async () => {
      const numbers = await database.read(withTraces)
      for (const table of erasedTables) {
        await database.rows(raw(`VACUUM (SKIP_LOCKED) ${table}`)).catch(() => undefined)
      }
      await database.change(() => noteCleaned(numbers, dialect))
      return 'done'
    },
  }
}

/** Writes notifications without blocking adds, because there may be a million. {@link seal} counts them later. */
function* writeNotifications(notifications: readonly NewEvent[], nowMs: number): Script<number> {
  const deliveries = notifications.reduce((sum, event) => sum + event.deliveries.length, 0)
  let afterId = deliveries === 0 ? 0 : yield* reserveIds(deliveries)
  for (const part of partsOf(notifications)) {
    const query = writeQuery(part, { nowMs, afterId })
    yield* run(query)
    afterId += query.deliveries.length
  }
  return afterId
}

/**
 * Reserves consecutive ids, and returns the id before them. Blocks other adds meanwhile, then ends the block by a
 * rollback to a savepoint. The rollback does not undo the change of the sequence.
 */
function* reserveIds(count: number): Script<number> {
  yield* run(raw('SAVEPOINT open_gate'))
  yield* awaitEvents()
  const row = yield* firstRow<{ readonly id: number }>(
    sql`SELECT setval('evroute_delivery_ids', (${lastId}) + ${count}::bigint) AS id`,
  )
  yield* run(raw('ROLLBACK TO open_gate'))
  return (row?.id ?? 0) - count
}

const countSql = changeCounts(
  ['accepted', 'routed', 'filtered', 'deliveries', 'pending'],
  `SELECT ${wholeStore} AS destination_id, $1::bigint AS accepted, $2::bigint AS routed,
     $1::bigint - $2::bigint AS filtered, 0 AS deliveries, 0 AS pending
   UNION ALL
   SELECT destination_id, 0, 0, 0, count(*), count(*)
   FROM unnest($3::text[]) AS written (destination_id) GROUP BY destination_id`,
)

function* seal(notifications: readonly NewEvent[]): Script<number> {
  yield* awaitEvents()
  const row = yield* firstRow<{ readonly id: number }>(lastId)
  const accepted = notifications.length
  const routed = notifications.filter(({ deliveries }) => deliveries.length > 0).length
  const written = notifications.flatMap(({ deliveries }) => deliveries)
  const destinationIds = written.map(({ destinationId }) => toStored(destinationId))
  const values = [accepted, routed, destinationIds]
  // Count last, because counting locks the counts.
  if (accepted > 0) yield* run({ sql: countSql, values })
  return row?.id ?? 0
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
