import type { RegulationType } from '../../model/index.ts'
import type {
  ArchiveErasure,
  Regulation,
  RegulationReader,
  RegulationsRequest,
} from '../../privacy/index.ts'
import { raw, rowsOf, sql, type Script, type Sql, type SqlDatabase } from '../sql.ts'
import { fromStored, toStored } from '../stored-text.ts'
import {
  RegulationNotifications,
  streamsOf,
  type NotificationColumns,
} from './regulation-notifications.ts'

interface RegulationRow extends NotificationColumns {
  readonly id: string
  readonly type: RegulationType
  readonly source_ids: string | null
  readonly created_at: number
  readonly finished_at: number | null
  readonly is_store_erased: unknown
  readonly erased_pending: number
  readonly erased_settled: number
  readonly erased_members: number
  readonly archive: string | null
  /** JSON lists of texts in their stored form: the userIds, and the archives that the regulation waits for. */
  readonly users: string
  readonly archives_left: string | null
}

/** Finds and lists regulations, with their users and the archives that they wait for. */
export class RegulationRows implements RegulationReader {
  readonly #database: SqlDatabase

  constructor(database: SqlDatabase) {
    this.#database = database
  }

  async find({ id }: { readonly id: string }): Promise<Regulation | undefined> {
    const [regulation] = await this.#database.read(() => this.regulations(withId(id)))
    return regulation
  }

  list({
    limit,
    beforeId,
    unfinished = false,
  }: RegulationsRequest): Promise<readonly Regulation[]> {
    const before =
      beforeId === undefined
        ? raw('')
        : sql`AND number < (SELECT number FROM evroute_regulations ${withId(beforeId)})`
    const end = sql`
      WHERE ${raw(unfinished ? 'finished_at IS NULL' : 'true')} ${before}
      ORDER BY number DESC LIMIT ${limit}`
    return this.#database.read(() => this.regulations(end))
  }

  /** Finds regulations. `end` is the rest of the SELECT, starting at WHERE. */
  protected *regulations(end: Sql): Script<readonly Regulation[]> {
    const { dialect } = this.#database
    const rows = yield* rowsOf<RegulationRow>(sql`
      SELECT regulation.*,
        (SELECT CAST(${dialect.jsonArray}(user_id) AS text) FROM (
          SELECT user_id FROM evroute_regulation_users users
          WHERE users.number = regulation.number ORDER BY place) listed) AS users,
        (SELECT CAST(${dialect.jsonArray}(name) AS text) FROM (
          SELECT name FROM evroute_regulation_archives awaited JOIN evroute_archives archives
            ON archives.id = archive_id
          WHERE awaited.number = regulation.number ORDER BY name) listed) AS archives_left
      FROM evroute_regulations regulation ${end}`)
    const regulations: Regulation[] = []
    for (const row of rows) {
      const { finished_at: finishedAtMs } = row
      const streams =
        finishedAtMs === null
          ? yield* new RegulationNotifications(row, dialect).streams()
          : streamsOf(row.streams)
      regulations.push(regulationOf(row, streams))
    }
    return regulations
  }
}

function regulationOf(row: RegulationRow, streams: Regulation['streams']): Regulation {
  const archivesLeft = storedTexts(row.archives_left)
  return {
    id: fromStored(row.id),
    type: row.type,
    userIds: storedTexts(row.users),
    sourceIds: JSON.parse(row.source_ids ?? 'null') as readonly string[] | null,
    createdAtMs: row.created_at,
    finishedAtMs: row.finished_at,
    isStoreErased: Boolean(row.is_store_erased),
    erased: {
      pending: row.erased_pending,
      settled: row.erased_settled,
      members: row.erased_members,
    },
    archive: JSON.parse(row.archive ?? 'null') as ArchiveErasure | null,
    archivesLeft: archivesLeft.length > 0 ? archivesLeft : undefined,
    streams,
  }
}

/** Returns the end of a SELECT that finds one regulation. */
export function withId(id: string): Sql {
  return sql`WHERE id = ${toStored(id)}`
}

function storedTexts(json: string | null): readonly string[] {
  return (JSON.parse(json ?? '[]') as string[]).map(fromStored)
}
