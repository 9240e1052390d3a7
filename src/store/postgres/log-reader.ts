import type {
  DeliveryKey,
  DeliveryStory,
  ListRequest,
  LoggedDelivery,
  StoreAudit,
} from '../../delivery/index.ts'
import type { Lane, RequestRecord, RequestVerdict } from '../../model/index.ts'
import { fromStored, fromStoredOrNull, toStored } from '../stored-text.ts'
import { allDestinations, ledgerOf, ledgerSums, purgedSums } from './counts.ts'
import type { Database } from './database.ts'
import { conditionsOf, loggedColumns, loggedDelivery, type LoggedRow } from './delivery-rows.ts'

interface RequestRow {
  readonly attempt: number
  readonly lane: Lane
  readonly url: string
  readonly at: number
  readonly duration: number
  readonly outcome: RequestVerdict
  readonly status: number | null
  readonly error: string | null
  readonly excerpt: string
}

const storySql = `
  SELECT ${loggedColumns}, message.body
  FROM evroute_deliveries delivery LEFT JOIN evroute_messages message ON message.id = body_id
  WHERE delivery.destination_id = $1 AND delivery.id = $2`

const requestsSql = `
  SELECT attempt, lane, url, at, duration, outcome, status, error, excerpt FROM evroute_requests
  WHERE destination_id = $1 AND delivery_id = $2 ORDER BY at, id`

/** One statement sees one moment. */
const auditSql = `
  SELECT books.*, in_store.* FROM
    (SELECT ${ledgerSums}, ${purgedSums} FROM evroute_counts) books,
    (SELECT count(*) FILTER (WHERE state = 'pending') AS counted_pending,
      count(*) FILTER (WHERE state = 'delivered') AS counted_delivered,
      count(*) FILTER (WHERE state = 'failed') AS counted_failed,
      count(*) FILTER (WHERE state = 'expired') AS counted_expired,
      count(*) FILTER (WHERE message.id IS NULL) AS without_body
    FROM evroute_deliveries LEFT JOIN evroute_messages message ON message.id = body_id) in_store`

/** Answers questions about the deliveries in a database. */
export class LogReader {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  /** Deliveries that a filter names, those with the greatest ids first. */
  async list(request: ListRequest): Promise<readonly LoggedDelivery[]> {
    const { filter, limit, beforeId = Number.MAX_SAFE_INTEGER } = request
    const conditions = conditionsOf(filter, 3)
    const values = [limit, beforeId, ...conditions.values]
    const isNamed = filter.destinationId !== undefined
    if (isNamed) values.push(toStored(filter.destinationId))
    const destinations = isNamed ? `SELECT $${values.length} AS destination_id` : allDestinations
    const sql = `
      SELECT listed.* FROM (${destinations}) destination CROSS JOIN LATERAL (
        SELECT ${loggedColumns} FROM evroute_deliveries delivery
        WHERE delivery.destination_id = destination.destination_id AND delivery.id < $2 ${conditions.sql}
        ORDER BY delivery.id DESC LIMIT $1) listed
      ORDER BY listed.id DESC LIMIT $1`
    const rows = await this.#database.rows<LoggedRow>({ sql, values })
    return rows.map(loggedDelivery)
  }

  /** One delivery with its text and its requests; undefined when there is none. */
  async story({ destinationId, id }: DeliveryKey): Promise<DeliveryStory | undefined> {
    const values = [toStored(destinationId), id]
    const [[row], requests] = await Promise.all([
      this.#database.rows<LoggedRow & { readonly body: string | null }>({
        name: 'story',
        sql: storySql,
        values,
      }),
      this.#database.rows<RequestRow>({ name: 'requests', sql: requestsSql, values }),
    ])
    if (row === undefined) return undefined
    const delivery = loggedDelivery(row)
    return {
      ...delivery,
      body: fromStored(row.body ?? ''),
      requests: requests.map((request) => requestRecord(request, delivery)),
    }
  }

  /** The books beside what is there, at one moment. It reads every delivery. */
  async audit(): Promise<StoreAudit> {
    const [rows = []] = await this.#database.script([auditSql], { isLong: true })
    const row = rows[0] as Readonly<Record<string, number>>
    const of = (prefix: string) => ({
      delivered: row[`${prefix}_delivered`] ?? 0,
      failed: row[`${prefix}_failed`] ?? 0,
      expired: row[`${prefix}_expired`] ?? 0,
    })
    return {
      ledger: ledgerOf(row),
      counted: { ...of('counted'), pending: row['counted_pending'] ?? 0 },
      purged: of('purged'),
      withoutBody: row['without_body'] ?? 0,
    }
  }
}

function requestRecord(row: RequestRow, delivery: LoggedDelivery): RequestRecord {
  return {
    destinationId: delivery.destinationId,
    deliveryId: delivery.id,
    messageId: delivery.messageId,
    url: fromStored(row.url),
    lane: row.lane,
    attempt: row.attempt,
    atMs: row.at,
    outcome: row.outcome,
    status: row.status,
    error: fromStoredOrNull(row.error),
    durationMs: row.duration,
    excerpt: fromStored(row.excerpt),
  }
}
