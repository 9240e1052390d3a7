import type {
  DeliveryFilter,
  ListRequest,
  LoggedDelivery,
  StoreAudit,
} from '../../delivery/index.ts'
import { loggedColumns, loggedDelivery, type LoggedRow } from '../log/index.ts'
import { toStored } from '../stored-text.ts'
import { allDestinations, ledgerOf, ledgerSums, purgedSums } from './counts.ts'
import type { Database } from './database.ts'
import type { Query, SqlValue } from '../sql/index.ts'
import { isOfUser } from './look-up-indexes.ts'
import { conditionsOf } from './delivery-rows.ts'

/** One statement sees the database at one moment. */
const auditSql = `
  SELECT books.*, in_store.* FROM
    (SELECT ${ledgerSums}, ${purgedSums} FROM evroute_counts) books,
    (SELECT count(*) FILTER (WHERE state = 'pending') AS counted_pending,
      count(*) FILTER (WHERE state = 'delivered') AS counted_delivered,
      count(*) FILTER (WHERE state = 'failed') AS counted_failed,
      count(*) FILTER (WHERE state = 'expired') AS counted_expired,
      count(*) FILTER (WHERE message.id IS NULL) AS without_body
    FROM evroute_deliveries LEFT JOIN evroute_messages message ON message.id = body_id) in_store`

/** The condition for a request of the destination `$1` and the delivery `$2`. */
export const requestsOfDelivery = 'destination_id = $1 AND delivery_id = $2'

/** Answers questions about the deliveries in a database. */
export class LogReader {
  readonly #database: Database
  #auditing: Promise<unknown> = Promise.resolve()
  #nextAudit: Promise<StoreAudit> | undefined

  constructor(database: Database) {
    this.#database = database
  }

  /** Lists the deliveries of a filter; the greatest ids first. */
  async list(request: ListRequest): Promise<readonly LoggedDelivery[]> {
    const rows = await this.#database.rows<LoggedRow>(listQuery(request))
    return rows.map(loggedDelivery)
  }

  /**
   * Compares the ledger with the rows, at one moment. It reads every delivery, so only one audit runs
   * at a time: callers that come meanwhile share the next one.
   */
  audit(): Promise<StoreAudit> {
    this.#nextAudit ??= this.#auditing.then(() => {
      this.#nextAudit = undefined
      const audit = this.#audit()
      this.#auditing = audit.catch(() => undefined)
      return audit
    })
    return this.#nextAudit
  }

  async #audit(): Promise<StoreAudit> {
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

/** The statement that lists deliveries. */
export function listQuery({
  filter,
  limit,
  beforeId = Number.MAX_SAFE_INTEGER,
}: ListRequest): Query {
  const conditions = conditionsOf(filter, 3)
  const values = [limit, beforeId, ...conditions.values]
  const { destinationId } = filter
  const named = destinationId === undefined ? undefined : `$${values.push(toStored(destinationId))}`
  const lookedUp = lookedUpBy(filter, values)
  if (lookedUp !== undefined) {
    // Materialized, so that the planner uses no other index.
    const sql = `
      SELECT delivery.* FROM (SELECT ${loggedColumns} FROM evroute_deliveries delivery
        WHERE ${lookedUp} AND id < $2 ORDER BY id DESC OFFSET 0) delivery
      WHERE destination_id = ${named ?? 'destination_id'} ${conditions.sql}
      ORDER BY id DESC LIMIT $1`
    return { sql, values }
  }
  const destinations = named === undefined ? allDestinations : `SELECT ${named} AS destination_id`
  const sql = `
    SELECT listed.* FROM (${destinations}) destination CROSS JOIN LATERAL (
      SELECT ${loggedColumns} FROM evroute_deliveries delivery
      WHERE delivery.destination_id = destination.destination_id AND delivery.id < $2 ${conditions.sql}
      ORDER BY delivery.id DESC LIMIT $1) listed
    ORDER BY listed.id DESC LIMIT $1`
  return { sql, values }
}

/** The condition for the index that finds the rows of a filter; undefined if there is none. */
function lookedUpBy({ messageId, userId }: DeliveryFilter, values: SqlValue[]): string | undefined {
  const wanted = messageId ?? userId
  if (wanted === undefined) return undefined
  const place = `$${values.push(toStored(wanted))}::text`
  return messageId === undefined ? isOfUser(place) : `message_id = ${place}`
}
