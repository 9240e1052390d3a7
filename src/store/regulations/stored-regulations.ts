import { effectsOf } from '../../model/index.ts'
import type {
  ArchiveErasure,
  CreateRegulationRequest,
  EraseRequest,
  EraseResult,
  FinishRequest,
  NoteArchiveRequest,
  RegulationStore,
} from '../../privacy/index.ts'
import { firstRow, rowsOf, run, sql, type Dialect, type Script, type SqlDatabase } from '../sql.ts'
import { toStored } from '../stored-text.ts'
import { lift, suppress } from '../suppressions.ts'
import { ErasureSteps } from './erasure-steps.ts'
import {
  newStreams,
  RegulationNotifications,
  type NotificationColumns,
} from './regulation-notifications.ts'
import type { ErasureEngine } from './regulation-engine.ts'
import { RegulationRows, withId } from './regulation-rows.ts'

/**
 * Keeps regulations in the same database as the deliveries that they add and erase.
 *
 * The database has the progress of each erasure, so any process can take the next step. The erasure from the
 * store is complete once the files are cleaned, even if notifications are pending.
 */
export class StoredRegulations extends RegulationRows implements RegulationStore {
  readonly #engine: ErasureEngine
  readonly #steps: ErasureSteps

  /** @param reading - the database for reads; the engine's own by default */
  constructor(engine: ErasureEngine, reading: SqlDatabase = engine.database) {
    super(reading)
    this.#engine = engine
    this.#steps = new ErasureSteps(engine)
  }

  async create(request: CreateRegulationRequest): Promise<void> {
    await this.#engine.database.change(() => createRegulation(this.#engine, request))
    if (request.notifications.length > 0) this.#engine.announce()
  }

  async erase({ leavesTraces = false, ...request }: EraseRequest): Promise<EraseResult> {
    const { database, isReady, cleanFiles } = this.#engine
    if (!isReady()) return 'waiting'
    let { rowsMax } = request
    while (rowsMax > 0) {
      const left = rowsMax
      const step = await database.change(() => this.#steps.step({ ...request, rowsMax: left }))
      if (typeof step === 'number') {
        rowsMax -= step
        continue
      }
      if (step !== 'traces' || leavesTraces) return step
      const result = await cleanFiles()
      if (result !== 'done') return result
    }
    return 'more'
  }

  noteArchive(request: NoteArchiveRequest): Promise<void> {
    const { database, dialect } = this.#engine
    return database.change(() => noteArchive(request, dialect))
  }

  finish(request: FinishRequest): Promise<boolean> {
    return this.#engine.database.change(() => this.#finish(request))
  }

  *#finish({ id, nowMs }: FinishRequest): Script<boolean> {
    const row = yield* firstRow<NotificationColumns>(sql`
      SELECT streams, last_notification_id FROM evroute_regulations
      ${withId(id)} AND finished_at IS NULL`)
    if (row === undefined) return false
    const notifications = new RegulationNotifications(row, this.#engine.dialect)
    if (yield* notifications.isAnyLeft()) {
      // A notification was retried manually. Wait for it, and erase it once it is delivered.
      yield* run(sql`UPDATE evroute_regulations SET stage = 'notifications'
        ${withId(id)} AND stage = 'done' AND finished_at IS NULL`)
      return false
    }
    const streams = yield* notifications.streams()
    const finished = yield* rowsOf(sql`
      UPDATE evroute_regulations SET finished_at = ${nowMs}, streams = ${JSON.stringify(streams)}
      ${withId(id)} AND finished_at IS NULL
        AND NOT EXISTS (SELECT 1 FROM evroute_regulation_archives awaited
          WHERE awaited.number = evroute_regulations.number)
      RETURNING 1`)
    return finished.length > 0
  }
}

/**
 * Stores a regulation with its suppressions and notifications.
 *
 * `seal` blocks adds until the commit. Deliveries of earlier events therefore have ids up to `last_id`, and later adds
 * see the suppressed users.
 */
function* createRegulation(
  engine: ErasureEngine,
  { regulation, notifications, nowMs }: CreateRegulationRequest,
): Script<void> {
  const { dialect } = engine
  const { type, userIds, sourceIds } = regulation
  const { suppression, erasesArchives } = effectsOf(type)
  const number = yield* addRegulation({ regulation, notifications, nowMs }, dialect)
  const lastNotificationId = yield* engine.notify(notifications, nowMs)
  if (erasesArchives) yield* awaitArchives(number, dialect)
  if (suppression === 'add') yield* suppress({ userIds, sourceIds }, dialect)
  if (suppression === 'lift') yield* lift({ userIds, sourceIds }, dialect)
  const lastId = yield* engine.seal(notifications)
  yield* run(sql`UPDATE evroute_regulations
    SET last_id = ${lastId}, last_notification_id = ${lastNotificationId} WHERE number = ${number}`)
}

function* noteArchive(
  { id, archive, archiveIds = [] }: NoteArchiveRequest,
  dialect: Dialect,
): Script<void> {
  const row = yield* firstRow<{ readonly number: number }>(
    sql`SELECT number FROM evroute_regulations ${withId(id)}`,
  )
  if (row === undefined) return
  const { number } = row
  yield* addErased(number, archive, dialect)
  const ids = archiveIds.map((archiveId) => ({ id: toStored(archiveId) }))
  yield* run(sql`
    DELETE FROM evroute_regulation_archives WHERE number = ${number}
      AND archive_id IN (SELECT given.id FROM ${dialect.given(ids, { id: 'text' })})`)
}

/** Adds what was erased from archives to the counts of a regulation. */
export function* addErased(
  number: number,
  { events, files, problems }: ArchiveErasure,
  { forUpdate }: Dialect,
): Script<void> {
  const row = yield* firstRow<{ readonly archive: string | null }>(
    sql`SELECT archive FROM evroute_regulations WHERE number = ${number} ${forUpdate}`,
  )
  const before = JSON.parse(row?.archive ?? 'null') as ArchiveErasure | null
  const archive: ArchiveErasure = {
    events: (before?.events ?? 0) + events,
    files: (before?.files ?? 0) + files,
    problems: [...(before?.problems ?? []), ...problems],
  }
  yield* run(sql`UPDATE evroute_regulations SET archive = ${JSON.stringify(archive)}
    WHERE number = ${number}`)
}

function* addRegulation(
  { regulation, notifications, nowMs }: CreateRegulationRequest,
  { given }: Dialect,
): Script<number> {
  const { id, type, userIds, sourceIds } = regulation
  const { erasesStore } = effectsOf(type)
  const row = yield* firstRow<{ readonly number: number }>(sql`
    INSERT INTO evroute_regulations (id, type, source_ids, created_at, last_id, last_notification_id,
      stage, at_key, at_id, is_store_erased, erased_pending, erased_settled, erased_members, streams)
    VALUES (${toStored(id)}, ${type}, ${sourceIds && JSON.stringify(sourceIds)}, ${nowMs}, 0, 0,
      ${erasesStore ? 'deliveries' : 'done'}, '', 0, ${erasesStore ? 0 : 1}, 0, 0, 0,
      ${JSON.stringify(newStreams(notifications))}) RETURNING number`)
  const number = row?.number ?? 0
  const users = userIds.map((userId) => ({ user_id: toStored(userId) }))
  yield* run(sql`
    INSERT INTO evroute_regulation_users (number, place, user_id)
    SELECT ${number}, given.position, given.user_id FROM ${given(users, { user_id: 'text' })}`)
  return number
}

/** Makes a regulation wait for all archives. No archive can be registered until the transaction ends. */
function* awaitArchives(number: number, { lockTable }: Dialect): Script<void> {
  yield* lockTable('evroute_archives')
  yield* run(sql`INSERT INTO evroute_regulation_archives (number, archive_id)
    SELECT ${number}, id FROM evroute_archives`)
}
