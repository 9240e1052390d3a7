import type { LoggedState } from '../../delivery/index.ts'
import type { RegulationType } from '../../model/index.ts'
import type {
  ArchiveErasure,
  NotificationStream,
  Regulation,
  RegulationsRequest,
} from '../../privacy/index.ts'
import type { Database } from './database.ts'
import { fromStored, toStored } from './stored-text.ts'

interface RegulationRow {
  readonly number: number
  readonly id: string
  readonly type: RegulationType
  readonly source_ids: string | null
  readonly created_at: number
  readonly finished_at: number | null
  readonly last_id: number
  readonly last_notification_id: number
  readonly is_store_erased: number
  readonly erased_pending: number
  readonly erased_settled: number
  readonly erased_members: number
  readonly archive: string | null
  readonly streams: string
}

interface CountedRow {
  readonly source_id: string
  readonly destination_id: string
  readonly state: LoggedState
  readonly count: number
}

/** Reads regulations out of a file. */
export class RegulationRows {
  readonly #find
  readonly #list
  readonly #listUnfinished
  readonly #users
  readonly #counted

  constructor(database: Database) {
    this.#find = database.prepare('SELECT * FROM regulations WHERE id = ?')
    const before = `number < coalesce((SELECT number FROM regulations WHERE id = ?), ?)`
    this.#list = database.prepare(
      `SELECT * FROM regulations WHERE ${before} ORDER BY number DESC LIMIT ?`,
    )
    this.#listUnfinished = database.prepare(`
      SELECT * FROM regulations WHERE finished_at IS NULL AND ${before}
      ORDER BY number DESC LIMIT ?`)
    this.#users = database.prepare(
      'SELECT user_id FROM regulation_users WHERE number = ? ORDER BY place',
    )
    this.#counted = database.prepare(`
      SELECT source_id, destination_id, state, count(*) AS count FROM deliveries
      WHERE id > ? AND id <= ? GROUP BY source_id, destination_id, state`)
  }

  /** One regulation; undefined when there is none. */
  find(id: string): Regulation | undefined {
    const row = this.#find.get(toStored(id)) as RegulationRow | undefined
    return row === undefined ? undefined : this.#regulation(row)
  }

  /** Regulations, the newest first; none where the one that they are older than is unknown. */
  list({ limit, beforeId, unfinished = false }: RegulationsRequest): readonly Regulation[] {
    const statement = unfinished ? this.#listUnfinished : this.#list
    const [before, otherwise] =
      beforeId === undefined ? [null, Number.MAX_SAFE_INTEGER] : [toStored(beforeId), 0]
    const rows = statement.all(before, otherwise, limit) as readonly RegulationRow[]
    return rows.map((row) => this.#regulation(row))
  }

  #regulation(row: RegulationRow): Regulation {
    const users = this.#users.all(row.number) as readonly { readonly user_id: string }[]
    const sourceIds = JSON.parse(row.source_ids ?? 'null') as readonly string[] | null
    return {
      id: fromStored(row.id),
      type: row.type,
      userIds: users.map(({ user_id: userId }) => fromStored(userId)),
      sourceIds,
      createdAtMs: row.created_at,
      finishedAtMs: row.finished_at,
      isStoreErased: row.is_store_erased !== 0,
      erased: {
        pending: row.erased_pending,
        settled: row.erased_settled,
        members: row.erased_members,
      },
      archive: JSON.parse(row.archive ?? 'null') as ArchiveErasure | null,
      streams: this.#streams(row),
    }
  }

  #streams(row: RegulationRow): readonly NotificationStream[] {
    const kept = JSON.parse(row.streams) as readonly NotificationStream[]
    if (row.finished_at !== null || kept.length === 0) return kept
    const counts = this.#countByStream(row)
    return kept.map(({ sourceId, destinationId, pending: all }) => {
      const of = (state: LoggedState): number =>
        counts.get(JSON.stringify([sourceId, destinationId, state])) ?? 0
      const [pending, failed, expired] = [of('pending'), of('failed'), of('expired')]
      // Those that are not there were purged, which those that were not delivered are much later.
      const delivered = all - pending - failed - expired
      return { sourceId, destinationId, pending, delivered, failed, expired }
    })
  }

  #countByStream(row: RegulationRow): ReadonlyMap<string, number> {
    const counts = new Map<string, number>()
    const { last_id: afterId, last_notification_id: lastId } = row
    const rows = this.#counted.all(afterId, lastId) as readonly CountedRow[]
    for (const { source_id: sourceId, destination_id: destinationId, state, count } of rows) {
      counts.set(JSON.stringify([fromStored(sourceId), fromStored(destinationId), state]), count)
    }
    return counts
  }
}
