import { effectsOf } from '../../model/index.ts'
import type { NewEvent } from '../../delivery/index.ts'
import type {
  CreateRegulationRequest,
  NoteArchiveRequest,
  NotificationStream,
  Regulation,
} from '../../privacy/index.ts'
import { firstRow, givenRows, run, type Dialect, type Script } from '../sql.ts'
import { toStored } from '../stored-text.ts'
import { lift, suppress } from '../suppressions.ts'
import type { ErasureEngine } from './regulation-engine.ts'
import { addErased, forgetAwaited } from './shared-archives.ts'

/**
 * Stores a regulation with its suppressions and notifications.
 *
 * Its last step blocks other adds until the commit. So earlier events have ids up to `last_id`, and every
 * later add knows the suppressed users. The ids of its notifications are consecutive.
 */
export function* createRegulation(
  engine: ErasureEngine,
  { regulation, notifications, nowMs }: CreateRegulationRequest,
  reservedAfterId: number,
): Script<void> {
  const { dialect } = engine.database
  const { type, userIds, sourceIds } = regulation
  const { suppression, erasesArchives } = effectsOf(type)
  const number = yield* addRegulation({ regulation, notifications, nowMs }, dialect)
  yield* engine.notify(notifications, { nowMs, reservedAfterId })
  if (erasesArchives) yield* awaitArchives(number, dialect)
  if (suppression === 'add') yield* suppress({ userIds, sourceIds }, dialect)
  if (suppression === 'lift') yield* lift({ userIds, sourceIds }, dialect)
  const { lastId, lastNotificationId } = yield* engine.seal(notifications, { reservedAfterId })
  yield* run({
    sql: 'UPDATE evroute_regulations SET last_id = $2, last_notification_id = $3 WHERE number = $1',
    values: [number, lastId, lastNotificationId],
  })
}

/** Adds the counts of erased archives. */
export function* noteArchive(
  { id, archive, archiveIds = [] }: NoteArchiveRequest,
  dialect: Dialect,
): Script<void> {
  const sql = 'SELECT number FROM evroute_regulations WHERE id = $1'
  const row = yield* firstRow<{ readonly number: number }>({ sql, values: [toStored(id)] })
  if (row === undefined) return
  const { number } = row
  yield* addErased(number, archive, dialect)
  yield* forgetAwaited({ number, archiveIds: archiveIds.map(toStored) }, dialect)
}

/**
 * Ends a regulation, unless it has ended or is waiting for an archive. Stores the final state of its
 * notifications.
 */
export function finishRegulation({ id, streams }: Regulation, nowMs: number): Script<void> {
  const sql = `UPDATE evroute_regulations SET finished_at = $2, streams = $3
    WHERE id = $1 AND finished_at IS NULL
      AND NOT EXISTS (SELECT 1 FROM evroute_regulation_archives awaited
        WHERE awaited.number = evroute_regulations.number)`
  return run({ sql, values: [toStored(id), nowMs, JSON.stringify(streams)] })
}

function* addRegulation(
  { regulation, notifications, nowMs }: CreateRegulationRequest,
  { given }: Dialect,
): Script<number> {
  const { id, type, userIds, sourceIds } = regulation
  const { erasesStore } = effectsOf(type)
  const row = yield* firstRow<{ readonly number: number }>({
    sql: `INSERT INTO evroute_regulations (id, type, source_ids, created_at, last_id,
        last_notification_id, stage, at_key, at_id, is_store_erased, erased_pending, erased_settled,
        erased_members, streams)
      VALUES ($1, $2, $3, $4, 0, 0, $5, '', 0, $6, 0, 0, 0, $7) RETURNING number`,
    values: [
      toStored(id),
      type,
      sourceIds === null ? null : JSON.stringify(sourceIds),
      nowMs,
      erasesStore ? 'deliveries' : 'done',
      erasesStore ? 0 : 1,
      JSON.stringify(newStreams(notifications)),
    ],
  })
  const number = row?.number ?? 0
  const users = userIds.map((userId) => ({ user_id: toStored(userId) }))
  yield* run({
    sql: `INSERT INTO evroute_regulation_users (number, place, user_id)
      SELECT $1, given.place, given.user_id FROM ${given('$2', { user_id: 'text' })}`,
    values: [number, givenRows(users)],
  })
  return number
}

/** Makes a regulation wait for all archives. No archive can be registered until the transaction ends. */
function* awaitArchives(number: number, { lockTable }: Dialect): Script<void> {
  yield* lockTable('evroute_archives', 'SHARE')
  const sql = `INSERT INTO evroute_regulation_archives (number, archive_id)
    SELECT $1, id FROM evroute_archives`
  yield* run({ sql, values: [number] })
}

/** Returns the streams of new notifications: one for each source and destination. */
function newStreams(notifications: readonly NewEvent[]): readonly NotificationStream[] {
  const streams = new Map<string, NotificationStream>()
  for (const { sourceId, deliveries } of notifications) {
    for (const { destinationId } of deliveries) {
      const key = JSON.stringify([sourceId, destinationId])
      const pending = (streams.get(key)?.pending ?? 0) + 1
      const others = { delivered: 0, failed: 0, expired: 0 }
      streams.set(key, { sourceId, destinationId, pending, ...others })
    }
  }
  return [...streams.values()]
}
