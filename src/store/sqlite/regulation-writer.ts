import { effectsOf } from '../../model/index.ts'
import type { ArchiveErasure, CreateRegulationRequest, Regulation } from '../../privacy/index.ts'
import { newStreams } from '../new-streams.ts'
import type { Counts } from './counts.ts'
import type { Database } from './database.ts'
import { toStored } from './stored-text.ts'

/** Writes regulations; whoever calls it begins and ends transactions. */
export class RegulationWriter {
  readonly #counts: Counts
  readonly #add
  readonly #addUser
  readonly #noteArchive
  readonly #finish

  constructor(database: Database, counts: Counts) {
    this.#counts = counts
    this.#add = database.prepare(`
      INSERT INTO regulations (id, type, source_ids, created_at, last_id, last_notification_id, stage,
        at_key, at_id, is_store_erased, erased_pending, erased_settled, erased_members, streams)
      VALUES (?, ?, ?, ?, ?, ?, ?, '', 0, ?, 0, 0, 0, ?) RETURNING number`)
    this.#addUser = database.prepare('INSERT INTO regulation_users VALUES (?, ?, ?)')
    this.#noteArchive = database.prepare('UPDATE regulations SET archive = ? WHERE id = ?')
    this.#finish = database.prepare(
      'UPDATE regulations SET finished_at = ?, streams = ? WHERE id = ? AND finished_at IS NULL',
    )
  }

  /**
   * Writes a regulation.
   *
   * @param notify - writes its notifications, whose ids are behind those of all that was there
   */
  create(request: CreateRegulationRequest, notify: () => void): void {
    const { regulation, notifications, nowMs } = request
    const { id, type, userIds, sourceIds } = regulation
    const lastId = this.#counts.lastId()
    notify()
    const { erasesStore } = effectsOf(type)
    const row = this.#add.get(
      toStored(id),
      type,
      sourceIds === null ? null : JSON.stringify(sourceIds),
      nowMs,
      lastId,
      this.#counts.lastId(),
      erasesStore ? 'deliveries' : 'done',
      erasesStore ? 0 : 1,
      JSON.stringify(newStreams(notifications)),
    ) as { readonly number: number }
    for (const [place, userId] of userIds.entries()) {
      this.#addUser.run(row.number, toStored(userId), place)
    }
  }

  /** Writes what of archives was erased. */
  noteArchive({ id, archive }: { readonly id: string; readonly archive: ArchiveErasure }): void {
    this.#noteArchive.run(JSON.stringify(archive), toStored(id))
  }

  /** Ends a regulation that has not ended, and keeps how its notifications stand. */
  finish({ id, streams }: Regulation, nowMs: number): void {
    this.#finish.run(nowMs, JSON.stringify(streams), toStored(id))
  }
}
