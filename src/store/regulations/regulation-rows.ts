import type { LoggedState } from '../../delivery/index.ts'
import type { RegulationType } from '../../model/index.ts'
import type {
  ArchiveErasure,
  NotificationStream,
  Regulation,
  RegulationReader,
  RegulationsRequest,
} from '../../privacy/index.ts'
import { raw, rowsOf, sql, type Script, type Sql, type SqlDatabase } from '../sql.ts'
import { fromStored, toStored } from '../stored-text.ts'

interface RegulationRow {
  readonly number: number
  readonly id: string
  readonly type: RegulationType
  readonly source_ids: string | null
  readonly created_at: number
  readonly finished_at: number | null
  readonly last_notification_id: number
  readonly is_store_erased: unknown
  readonly erased_pending: number
  readonly erased_settled: number
  readonly erased_members: number
  readonly archive: string | null
  readonly streams: string
  /** JSON lists of texts in their stored form: the userIds, and the archives that the regulation waits for. */
  readonly users: string
  readonly archives_left: string | null
}

/** The number of notifications of a regulation in a state. Texts are in their stored form. */
interface CountedRow {
  readonly number: number
  readonly destination_id: string
  readonly source_id: string
  readonly state: LoggedState
  readonly count: number
}

const notificationColumns = {
  number: 'bigint',
  destination_id: 'text',
  after_id: 'bigint',
  last_id: 'bigint',
} as const

/** Reads regulations. */
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
        : sql`AND number < (SELECT number FROM evroute_regulations WHERE id = ${toStored(beforeId)})`
    const end = sql`
      WHERE ${raw(unfinished ? 'finished_at IS NULL' : 'true')} ${before}
      ORDER BY number DESC LIMIT ${limit}`
    return this.#database.read(() => this.regulations(end))
  }

  /** @param end - the end of a SELECT from regulations */
  protected *regulations(end: Sql): Script<readonly Regulation[]> {
    const { jsonArray } = this.#database.dialect
    const rows = yield* rowsOf<RegulationRow>(sql`
      SELECT regulation.*,
        (SELECT CAST(${jsonArray}(user_id) AS text) FROM (
          SELECT user_id FROM evroute_regulation_users users
          WHERE users.number = regulation.number ORDER BY place) listed) AS users,
        (SELECT CAST(${jsonArray}(name) AS text) FROM (
          SELECT name FROM evroute_regulation_archives awaited JOIN evroute_archives archives
            ON archives.id = archive_id
          WHERE awaited.number = regulation.number ORDER BY name) listed) AS archives_left
      FROM evroute_regulations regulation ${end}`)
    const counts = yield* this.#countsOf(rows)
    return rows.map((row) => {
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
        streams: isCounted(row) ? streamsNow(row, counts) : streamsOf(row),
      }
    })
  }

  *#countsOf(rows: readonly RegulationRow[]): Script<ReadonlyMap<string, number>> {
    const asked = rows.filter(isCounted).flatMap((row) => {
      const { number, last_notification_id: lastId } = row
      const range = { number, after_id: lastId - countOf(streamsOf(row)), last_id: lastId }
      const destinationIds = new Set(streamsOf(row).map(({ destinationId }) => destinationId))
      return [...destinationIds].map((id) => ({ ...range, destination_id: toStored(id) }))
    })
    if (asked.length === 0) return new Map()
    const { deliveriesOfEach, given } = this.#database.dialect
    // No other deliveries have ids in these ranges.
    const inRange = sql`delivery.destination_id = given.destination_id
      AND delivery.id > given.after_id AND delivery.id <= given.last_id`
    const found = yield* rowsOf<CountedRow>(sql`
      SELECT given.number, given.destination_id, source_id, state, count(*) AS count
      FROM ${given(asked, notificationColumns)} ${deliveriesOfEach('source_id, state', inRange)}
      GROUP BY given.number, given.destination_id, source_id, state`)
    return new Map(
      found.map(({ number, destination_id: destinationId, source_id: sourceId, state, count }) => [
        JSON.stringify([number, fromStored(sourceId), fromStored(destinationId), state]),
        count,
      ]),
    )
  }
}

/** Returns the end of a SELECT that finds one regulation. */
export function withId(id: string): Sql {
  return sql`WHERE id = ${toStored(id)}`
}

function storedTexts(json: string | null): readonly string[] {
  return (JSON.parse(json ?? '[]') as string[]).map(fromStored)
}

/**
 * Tells whether the notifications must be counted. The row of a finished regulation already has the counts.
 */
function isCounted({ finished_at: finishedAtMs }: RegulationRow): boolean {
  return finishedAtMs === null
}

/** Returns the number of notifications that a regulation created. Their ids are consecutive. */
export function countOf(made: readonly NotificationStream[]): number {
  return made.reduce((sum, { pending }) => sum + pending, 0)
}

/** Reads the streams of a regulation. */
export function streamsOf({
  streams,
}: {
  readonly streams: string
}): readonly NotificationStream[] {
  return JSON.parse(streams) as readonly NotificationStream[]
}

function streamsNow(
  row: RegulationRow,
  counts: ReadonlyMap<string, number>,
): readonly NotificationStream[] {
  return streamsOf(row).map(({ sourceId, destinationId, pending: all }) => {
    const of = (state: LoggedState): number =>
      counts.get(JSON.stringify([row.number, sourceId, destinationId, state])) ?? 0
    const [pending, failed, expired] = [of('pending'), of('failed'), of('expired')]
    // Missing notifications were purged. Only delivered ones are purged that early.
    const delivered = all - pending - failed - expired
    return { sourceId, destinationId, pending, delivered, failed, expired }
  })
}
