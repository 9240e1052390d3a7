import type {
  DeliveryKey,
  DeliveryStory,
  ListRequest,
  LoggedDelivery,
  LoggedState,
  StoreAudit,
} from '../../delivery/index.ts'
import type { Lane, RequestRecord, RequestVerdict } from '../../model/index.ts'
import type { Counts } from './counts.ts'
import type { Database } from './database.ts'
import { conditionsOf, loggedColumns, loggedDelivery, type LoggedRow } from './delivery-rows.ts'
import { fromStored, fromStoredOrNull, toStored } from './stored-text.ts'

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

interface CountedRow {
  readonly state: LoggedState
  readonly deliveries: number
  readonly without_body: number
}

/** Answers questions about the deliveries in a file. */
export class LogReader {
  readonly #database: Database
  readonly #counts: Counts
  readonly #delivery
  readonly #body
  readonly #requests
  readonly #counted

  constructor(database: Database, counts: Counts) {
    this.#database = database
    this.#counts = counts
    this.#delivery = database.prepare(
      `SELECT ${loggedColumns} FROM deliveries WHERE id = ? AND destination_id = ?`,
    )
    this.#body = database.prepare('SELECT body FROM messages WHERE id = ?')
    this.#requests = database.prepare(`
      SELECT attempt, lane, url, at, duration, outcome, status, error, excerpt FROM requests
      WHERE delivery_id = ? ORDER BY at, id`)
    this.#counted = database.prepare(`
      SELECT state, count(*) AS deliveries, sum(messages.id IS NULL) AS without_body
      FROM deliveries LEFT JOIN messages ON messages.id = body_id GROUP BY state`)
  }

  /** Deliveries that a filter names, those with the greatest ids first. */
  list(request: ListRequest): readonly LoggedDelivery[] {
    const { filter, limit, beforeId = Number.MAX_SAFE_INTEGER } = request
    const { sql, values } = conditionsOf(filter)
    const statement = this.#database.prepare(`
      SELECT ${loggedColumns} FROM deliveries WHERE id < ? ${sql} ORDER BY id DESC LIMIT ?`)
    const rows = statement.all(beforeId, ...values, limit) as LoggedRow[]
    return rows.map(loggedDelivery)
  }

  /** One delivery with its text and its requests; undefined when there is none. */
  story(key: DeliveryKey): DeliveryStory | undefined {
    const row = this.#delivery.get(key.id, toStored(key.destinationId)) as LoggedRow | undefined
    if (row === undefined) return undefined
    const delivery = loggedDelivery(row)
    const text = this.#body.get(row.body_id) as { readonly body: string } | undefined
    const requests = this.#requests.all(key.id) as RequestRow[]
    return {
      ...delivery,
      body: fromStored(text?.body ?? ''),
      requests: requests.map((request) => requestRecord(request, delivery)),
    }
  }

  /** The books beside what is there, at one moment. */
  audit(): StoreAudit {
    this.#database.exec('BEGIN')
    try {
      const counted = { pending: 0, delivered: 0, failed: 0, expired: 0 }
      const rows = this.#counted.all() as readonly CountedRow[]
      for (const { state, deliveries } of rows) counted[state] = deliveries
      const withoutBody = rows.reduce((sum, { without_body: count }) => sum + count, 0)
      const [ledger, purged] = [this.#counts.ledger(), this.#counts.purged()]
      return { ledger, counted, purged, withoutBody }
    } finally {
      this.#database.exec('COMMIT')
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
