import type { LoggedState } from '../../delivery/index.ts'
import type { RegulationType } from '../../model/index.ts'
import type {
  ArchiveErasure,
  NotificationStream,
  Regulation,
  RegulationReader,
  RegulationsRequest,
} from '../../privacy/index.ts'
import { fromStored, toStored } from '../stored-text.ts'
import type { Session } from './database.ts'
import { awaitedArchives } from './regulation-archives.ts'

interface RegulationRow {
  readonly number: number
  readonly id: string
  readonly type: RegulationType
  readonly source_ids: string | null
  readonly created_at: number
  readonly finished_at: number | null
  readonly last_notification_id: number
  readonly is_store_erased: boolean
  readonly erased_pending: number
  readonly erased_settled: number
  readonly erased_members: number
  readonly archive: string | null
  readonly streams: string
}

interface UserRow {
  readonly number: number
  readonly user_id: string
}

interface CountedRow {
  readonly number: number
  readonly destination_id: string
  readonly source_id: string
  readonly state: LoggedState
  readonly count: number
}

/** Of the notifications of some regulations, whose ids nothing else has. */
const countedSql = `
  SELECT asked.number, asked.destination_id, delivery.source_id, delivery.state, count(*)
  FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[])
    AS asked (number, destination_id, after_id, last_id)
  CROSS JOIN LATERAL (
    SELECT source_id, state FROM evroute_deliveries
    WHERE destination_id = asked.destination_id AND id > asked.after_id AND id <= asked.last_id
    OFFSET 0) delivery
  GROUP BY asked.number, asked.destination_id, delivery.source_id, delivery.state`

/** Reads regulations. */
export class RegulationRows implements RegulationReader {
  readonly #database: Session

  constructor(database: Session) {
    this.#database = database
  }

  async find({ id }: { readonly id: string }): Promise<Regulation | undefined> {
    const sql = 'SELECT * FROM evroute_regulations WHERE id = $1'
    const values = [toStored(id)]
    const rows = await this.#database.rows<RegulationRow>({ name: 'regulation', sql, values })
    const [regulation] = await this.#regulations(rows)
    return regulation
  }

  async list({
    limit,
    beforeId,
    unfinished = false,
  }: RegulationsRequest): Promise<readonly Regulation[]> {
    const before =
      beforeId === undefined
        ? ''
        : 'AND number < (SELECT number FROM evroute_regulations WHERE id = $2)'
    const sql = `
      SELECT * FROM evroute_regulations WHERE ${unfinished ? 'finished_at IS NULL' : 'true'} ${before}
      ORDER BY number DESC LIMIT $1`
    const values = beforeId === undefined ? [limit] : [limit, toStored(beforeId)]
    return await this.#regulations(await this.#database.rows<RegulationRow>({ sql, values }))
  }

  async #regulations(rows: readonly RegulationRow[]): Promise<readonly Regulation[]> {
    if (rows.length === 0) return []
    const users = await this.#usersOf(rows)
    const counts = await this.#countsOf(rows)
    const numbers = rows.filter(isCounted).map(({ number }) => number)
    const awaited = await awaitedArchives(this.#database, numbers)
    return rows.map((row) => ({
      id: fromStored(row.id),
      type: row.type,
      userIds: users.get(row.number) ?? [],
      sourceIds: JSON.parse(row.source_ids ?? 'null') as readonly string[] | null,
      createdAtMs: row.created_at,
      finishedAtMs: row.finished_at,
      isStoreErased: row.is_store_erased,
      erased: {
        pending: row.erased_pending,
        settled: row.erased_settled,
        members: row.erased_members,
      },
      archive: JSON.parse(row.archive ?? 'null') as ArchiveErasure | null,
      archivesLeft: awaited.get(row.number),
      streams: isCounted(row) ? streamsNow(row, counts) : streamsOf(row),
    }))
  }

  async #usersOf(rows: readonly RegulationRow[]): Promise<ReadonlyMap<number, readonly string[]>> {
    const sql = `SELECT number, user_id FROM evroute_regulation_users WHERE number = ANY ($1::bigint[])
      ORDER BY number, place`
    const values = [rows.map(({ number }) => number)]
    const found = await this.#database.rows<UserRow>({ name: 'regulation_users', sql, values })
    const users = new Map<number, string[]>()
    for (const { number, user_id: userId } of found) {
      const ids = users.get(number) ?? []
      if (ids.length === 0) users.set(number, ids)
      ids.push(fromStored(userId))
    }
    return users
  }

  async #countsOf(rows: readonly RegulationRow[]): Promise<ReadonlyMap<string, number>> {
    const asked = rows.filter(isCounted).flatMap((row) => {
      const destinationIds = new Set(streamsOf(row).map(({ destinationId }) => destinationId))
      return [...destinationIds].map((destinationId) => ({ row, destinationId }))
    })
    if (asked.length === 0) return new Map()
    const values = [
      asked.map(({ row }) => row.number),
      asked.map(({ destinationId }) => toStored(destinationId)),
      asked.map(({ row }) => row.last_notification_id - countOf(streamsOf(row))),
      asked.map(({ row }) => row.last_notification_id),
    ]
    const found = await this.#database.rows<CountedRow>({
      name: 'count_notifications',
      sql: countedSql,
      values,
    })
    return new Map(
      found.map(({ number, destination_id: destinationId, source_id: sourceId, state, count }) => [
        JSON.stringify([number, fromStored(sourceId), fromStored(destinationId), state]),
        count,
      ]),
    )
  }
}

/** Whether its notifications are counted as they stand, and not as they stood at its end. */
function isCounted({ finished_at: finishedAtMs }: RegulationRow): boolean {
  return finishedAtMs === null
}

/** How many notifications there were when they were made; their ids follow one another. */
export function countOf(made: readonly NotificationStream[]): number {
  return made.reduce((sum, { pending }) => sum + pending, 0)
}

function streamsOf({ streams }: RegulationRow): readonly NotificationStream[] {
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
    // Those that are not there were purged, which those that were not delivered are much later.
    const delivered = all - pending - failed - expired
    return { sourceId, destinationId, pending, delivered, failed, expired }
  })
}
