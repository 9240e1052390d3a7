import type { DeliveryKey, DeliveryStory, LoggedDelivery } from '../../delivery/index.ts'
import type { Lane, RequestRecord, RequestVerdict } from '../../model/index.ts'
import { firstRow, rowsOf, type Script } from '../sql/index.ts'
import { fromStored, fromStoredOrNull, toStored } from '../stored-text.ts'
import { loggedColumns, loggedDelivery, type LoggedRow } from './logged-delivery.ts'

interface StoryRow extends LoggedRow {
  /** Null if the text is lost. */
  readonly body: string | null
  /** The first try if it succeeded; otherwise null in all columns. */
  readonly try_url: string | null
  readonly try_at: number | null
  readonly try_duration: number | null
  readonly try_status: number | null
  readonly try_excerpt: string | null
}

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
  SELECT ${loggedColumns}, message.body, try_url, try_at, try_duration, try_status, try_excerpt
  FROM evroute_deliveries delivery LEFT JOIN evroute_messages message ON message.id = body_id
  WHERE delivery.destination_id = $1 AND delivery.id = $2`

/** Reads one delivery with its text and its requests; undefined if there is none. */
export function* storyOf(
  { destinationId, id }: DeliveryKey,
  ofDelivery: string,
): Script<DeliveryStory | undefined> {
  const values = [toStored(destinationId), id]
  const row = yield* firstRow<StoryRow>({ name: 'story', sql: storySql, values })
  if (row === undefined) return undefined
  const requests = yield* rowsOf<RequestRow>({
    name: 'requests',
    sql: `SELECT attempt, lane, url, at, duration, outcome, status, error, excerpt FROM evroute_requests
      WHERE ${ofDelivery} ORDER BY at, id`,
    values,
  })
  const delivery = loggedDelivery(row)
  const all = [...firstTryOf(row), ...requests].sort((a, b) => a.at - b.at)
  return {
    ...delivery,
    body: fromStored(row.body ?? ''),
    requests: all.map((request) => requestRecord(request, delivery)),
  }
}

function firstTryOf(row: StoryRow): readonly RequestRow[] {
  const { try_url: url, try_at: at, try_duration: duration } = row
  if (url === null || at === null || duration === null) return []
  const { try_status: status, try_excerpt: excerpt } = row
  const same = { attempt: 1, lane: 'first', outcome: 'success', error: null } as const
  return [{ ...same, url, at, duration, status, excerpt: excerpt ?? '' }]
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
