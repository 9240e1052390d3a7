import type {
  DeliveryKey,
  DeliveryStory,
  LoggedDelivery,
  EndpointHold,
  LeasedDelivery,
} from '../../delivery/index.ts'
import type { RequestRecord } from '../../model/index.ts'
import { firstRow, raw, rowsOf, sql, type Script, type Sql } from '../sql.ts'
import { fromStored, fromStoredRow, toStored } from '../stored-text.ts'

/** Number of characters of a body to search for the event's name, which precedes properties and context. */
export const bodyStartMax = 2_048

/** The columns of a {@link LoggedRow} except `body`, from a table named `delivery`. */
const loggedColumns = `delivery.destination_id AS "destinationId", delivery.id,
  source_id AS "sourceId", message_id AS "messageId", type, user_id AS "userId", state, lane,
  accepted_at AS "acceptedAtMs", CASE state WHEN 'pending' THEN due_at END AS "dueAtMs",
  expires_at AS "expiresAtMs", settled_at AS "settledAtMs", reason,
  manual_retries AS "manualRetries", attempts, window_attempts AS "windowAttempts",
  first_attempt_at AS "firstAttemptAtMs", holds`

/** Like `loggedColumns`, with the beginning of the body. */
export const listedColumns = `${loggedColumns},
  (SELECT substr(body, 1, ${bodyStartMax}) FROM evroute_messages message WHERE message.id = body_id) AS body`

/** A delivery with its texts in their stored form. */
export interface LoggedRow extends Omit<LoggedDelivery, 'eventName' | 'holds'> {
  /** The whole body or its beginning; null if the body is missing. */
  readonly body: string | null
  /** JSON. */
  readonly holds: string
}

/** Makes a logged delivery from its row. */
export function loggedDelivery({ body, holds, ...row }: LoggedRow): LoggedDelivery {
  const eventName = body === null ? null : eventNameOf(fromStored(body))
  return { ...fromStoredRow(row), eventName, holds: holdsOf(holds) }
}

type HeldField = 'destinationId' | 'lane' | 'lease' | 'leasedUntilMs'

/** The columns of a {@link ClaimedRow} except its id. */
export const claimedColumns = `message_id AS "messageId", type, accepted_at AS "acceptedAtMs",
  due_at AS "dueAtMs", attempts, window_attempts AS "windowAttempts",
  first_attempt_at AS "firstAttemptAtMs", holds, traceparent, body`

/** A delivery that was just leased, with its texts in their stored form. */
export interface ClaimedRow extends Omit<LeasedDelivery, HeldField | 'holds' | 'traceparent'> {
  /** JSON. */
  readonly holds: string
  readonly traceparent: string | null
}

/** Makes a leased delivery from its row. */
export function leasedDelivery(
  row: ClaimedRow,
  { destinationId, lane, lease, leasedUntilMs }: Pick<LeasedDelivery, HeldField>,
): LeasedDelivery {
  return {
    id: row.id,
    lease,
    destinationId,
    messageId: fromStored(row.messageId),
    type: row.type,
    body: fromStored(row.body),
    traceparent: row.traceparent ?? undefined,
    acceptedAtMs: row.acceptedAtMs,
    lane,
    dueAtMs: row.dueAtMs,
    leasedUntilMs,
    attempts: row.attempts,
    windowAttempts: row.windowAttempts,
    firstAttemptAtMs: row.firstAttemptAtMs,
    holds: holdsOf(row.holds),
  }
}

/** Parses holds. Damaged text counts as an empty list, so that a damaged row cannot stop delivery. */
function holdsOf(json: string): readonly EndpointHold[] {
  if (json === '[]') return []
  try {
    return JSON.parse(json) as readonly EndpointHold[]
  } catch {
    return []
  }
}

type RequestRow = Omit<RequestRecord, 'destinationId' | 'deliveryId' | 'messageId'>

/** Reads a delivery with its body and requests; undefined if it does not exist. `ofDelivery` selects its requests. */
export function* storyOf(
  { destinationId, id }: DeliveryKey,
  ofDelivery: Sql,
): Script<DeliveryStory | undefined> {
  const isDelivery = sql`delivery.destination_id = ${toStored(destinationId)} AND delivery.id = ${id}`
  const row = yield* firstRow<LoggedRow>(sql`
    SELECT ${raw(loggedColumns)}, message.body
    FROM evroute_deliveries delivery LEFT JOIN evroute_messages message ON message.id = body_id
    WHERE ${isDelivery}`)
  if (row === undefined) return undefined
  // A first try that succeeded is in the delivery's row, not in `requests`.
  const requests = yield* rowsOf<RequestRow>(sql`
    SELECT attempt, lane, url, at AS "atMs", duration AS "durationMs", outcome, status, error, excerpt
    FROM (
      SELECT id, attempt, lane, url, at, duration, outcome, status, error, excerpt
      FROM evroute_requests WHERE ${ofDelivery}
      UNION ALL
      SELECT 0, 1, 'first', try_url, try_at, try_duration, 'success', try_status, NULL,
        coalesce(try_excerpt, '')
      FROM evroute_deliveries delivery WHERE ${isDelivery} AND try_at IS NOT NULL) requests
    ORDER BY at, id`)
  const delivery = loggedDelivery(row)
  const { messageId } = delivery
  return {
    ...delivery,
    body: fromStored(row.body ?? ''),
    requests: requests.map((request) => ({
      ...fromStoredRow(request),
      destinationId,
      deliveryId: id,
      messageId,
    })),
  }
}

/** Matches a body up to the event's name. The closing quote shows that the name is not cut off. */
const upToName =
  /^\{"version":1,"type":"(?:track|page|screen)"(?:,"(?:userId|anonymousId)":(?:null|"(?:[^"\\]|\\.)*"))*,"(?:event|name)":("(?:[^"\\]|\\.)*")/

/**
 * Finds the name of a track, page or screen event in the beginning of a body that `buildWebhookBody` wrote.
 * Returns null if there is no name, if very long ids precede it, and for erased bodies.
 */
export function eventNameOf(bodyStart: string): string | null {
  const [, name] = upToName.exec(bodyStart) ?? []
  return name === undefined ? null : (JSON.parse(name) as string)
}
