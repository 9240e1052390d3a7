import { noteCleaned } from '../regulations/erasure-steps.ts'
import type { ErasureEngine } from '../regulations/regulation-engine.ts'
import { raw, run, sql } from '../sql.ts'
import { countChanges } from './counts.ts'
import type { Database } from './database.ts'
import { isFree, type OwnLeases } from './leases.ts'
import { reserveIds, seal, writeNotifications } from './regulation-notifications.ts'

/** The tables with rows of users, largest first. */
const erasedTables = [
  'evroute_messages',
  'evroute_deliveries',
  'evroute_requests',
  'evroute_seen',
  'evroute_members',
]

/** The parts of a delivering process that an erasure needs. */
interface ErasureParts {
  readonly database: Database
  /** The leases of this process. */
  readonly ownLeases: () => OwnLeases
  readonly isReady: () => boolean
  readonly announce: () => void
}

/**
 * Returns the engine that erases users in PostgreSQL. A delivery that a dead process leased is free once its
 * lease has ended.
 *
 * PostgreSQL keeps erased rows in its files until VACUUM has cleaned their pages. At the end of an erasure
 * VACUUM runs for at most half a minute per table. If it is not permitted, or is not enough, autovacuum does
 * the rest later. Replicas, backups and archived WAL keep the rows until the operator deletes them.
 */
export function erasureEngine({
  database,
  ownLeases,
  isReady,
  announce,
}: ErasureParts): ErasureEngine {
  return {
    database,
    isReady,
    reserveIds,
    notify: writeNotifications,
    seal,
    announce,
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
