import { effectsOf } from '../../model/index.ts'
import type {
  CreateRegulationRequest,
  NoteArchiveRequest,
  Regulation,
} from '../../privacy/index.ts'
import { newStreams } from '../new-streams.ts'
import { toStored } from '../stored-text.ts'
import type { Session } from './database.ts'
import { addErased, awaitArchives, forgetAwaited } from './regulation-archives.ts'
import {
  countNotifications,
  deliveriesOf,
  lastId,
  writeNotifications,
} from './regulation-notifications.ts'
import { awaitEvents, lift, suppress } from './suppressions.ts'

const addSql = `
  WITH regulation AS (
    INSERT INTO evroute_regulations (id, type, source_ids, created_at, last_id, last_notification_id,
      stage, at_key, at_id, is_store_erased, erased_pending, erased_settled, erased_members, streams)
    VALUES ($1, $2, $3, $4, 0, 0, $5, '', 0, $6, 0, 0, 0, $7)
    RETURNING number
  ), users AS (
    INSERT INTO evroute_regulation_users (number, place, user_id)
    SELECT number, place, user_id
    FROM regulation CROSS JOIN unnest($8::text[]) WITH ORDINALITY AS given (user_id, place)
  )
  SELECT number FROM regulation`

/**
 * Stores a regulation with what it causes; whoever calls it begins and ends the transaction.
 *
 * For a moment at its end nobody else writes events: all that was written before has ids up to `last_id`,
 * and whoever writes afterwards knows who is suppressed. None of its notifications has another's between
 * them.
 *
 * @param afterId - the id in front of those that are reserved for its notifications
 */
export async function createRegulation(
  session: Session,
  { regulation, notifications, nowMs }: CreateRegulationRequest,
  afterId: number,
): Promise<void> {
  const { id, type, userIds, sourceIds } = regulation
  const { suppression, erasesStore, erasesArchives } = effectsOf(type)
  const values = [
    toStored(id),
    type,
    sourceIds === null ? null : JSON.stringify(sourceIds),
    nowMs,
    erasesStore ? 'deliveries' : 'done',
    String(!erasesStore),
    JSON.stringify(newStreams(notifications)),
    userIds.map(toStored),
  ]
  const [row] = await session.rows<{ readonly number: number }>({ sql: addSql, values })
  const number = row?.number ?? 0
  await writeNotifications(session, notifications, { afterId, nowMs })
  if (erasesArchives) await awaitArchives(session, number)
  if (suppression === 'add') await suppress(session, userIds, sourceIds)
  if (suppression === 'lift') await lift(session, userIds, sourceIds)
  await awaitEvents(session)
  await session.rows({
    sql: 'UPDATE evroute_regulations SET last_id = $2, last_notification_id = $3 WHERE number = $1',
    values: [number, await lastId(session), afterId + deliveriesOf(notifications)],
  })
  await countNotifications(session, notifications)
}

/** Adds what of archives was erased; whoever calls it begins and ends the transaction. */
export async function noteArchive(
  session: Session,
  { id, archive, archiveIds = [] }: NoteArchiveRequest,
): Promise<void> {
  const sql = 'SELECT number FROM evroute_regulations WHERE id = $1'
  const values = [toStored(id)]
  const [row] = await session.rows<{ readonly number: number }>({ sql, values })
  if (row === undefined) return
  await addErased(session, row.number, archive)
  await forgetAwaited(session, { number: row.number, archiveIds: archiveIds.map(toStored) })
}

/** Ends a regulation that has not ended and waits for no archive; keeps how its notifications stand. */
export async function finishRegulation(
  session: Session,
  { id, streams }: Regulation,
  nowMs: number,
): Promise<void> {
  const sql = `UPDATE evroute_regulations SET finished_at = $2, streams = $3
    WHERE id = $1 AND finished_at IS NULL
      AND NOT EXISTS (SELECT FROM evroute_regulation_archives awaited
        WHERE awaited.number = evroute_regulations.number)`
  await session.rows({ sql, values: [toStored(id), nowMs, JSON.stringify(streams)] })
}
