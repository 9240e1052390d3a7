import type {
  DeliveryKey,
  DeliveryStory,
  LoggedDelivery,
  DeliveryProgress,
  EndpointHold,
  LeasedDelivery,
  LoggedState,
} from '../../delivery/index.ts'
import type { EventType, Lane, RequestRecord } from '../../model/index.ts'
import { firstRow, raw, rowsOf, sql, type Script, type Sql } from '../sql.ts'
import { fromStored, fromStoredOrNull, toStored } from '../stored-text.ts'

/** Number of characters of a body to search for the event's name, which precedes properties and context. */
export const bodyStartMax = 2_048

/** The columns of a {@link ListedRow} except `body_start`, from a table named `delivery`. */
export const loggedColumns = `delivery.destination_id, delivery.id, source_id, message_id, type, user_id,
  state, lane, accepted_at, due_at, attempts, window_attempts, first_attempt_at, expires_at, holds,
  reason, settled_at, manual_retries`

/** Returns the column `body_start`: the beginning of the body whose id is `ofMessage`, from the table `messages`. */
export function bodyStartFrom(messages: string, ofMessage: string): string {
  return `(SELECT substr(body, 1, ${bodyStartMax}) FROM ${messages} message WHERE message.id = ${ofMessage}) AS body_start`
}

/** The columns of {@link DeliveryProgress}. `holds` is JSON. */
interface ProgressRow {
  readonly attempts: number
  readonly window_attempts: number
  readonly first_attempt_at: number | null
  readonly holds: string
}

interface LoggedRow extends ProgressRow {
  readonly destination_id: string
  readonly id: number
  readonly source_id: string
  readonly message_id: string
  readonly type: EventType
  readonly user_id: string | null
  readonly state: LoggedState
  readonly lane: Lane
  readonly accepted_at: number
  readonly due_at: number
  readonly expires_at: number | null
  readonly reason: string | null
  readonly settled_at: number | null
  readonly manual_retries: number
}

/** A row in a list of deliveries. */
export interface ListedRow extends LoggedRow {
  /** Null if the body is missing. */
  readonly body_start: string | null
}

/** Makes a listed delivery from its row. */
export function listedDelivery(row: ListedRow): LoggedDelivery {
  return loggedDelivery(row, row.body_start)
}

function loggedDelivery(row: LoggedRow, body: string | null): LoggedDelivery {
  return {
    destinationId: fromStored(row.destination_id),
    id: row.id,
    sourceId: fromStored(row.source_id),
    messageId: fromStored(row.message_id),
    type: row.type,
    eventName: body === null ? null : eventNameOf(fromStored(body)),
    userId: fromStoredOrNull(row.user_id),
    state: row.state,
    lane: row.lane,
    acceptedAtMs: row.accepted_at,
    dueAtMs: row.state === 'pending' ? row.due_at : null,
    expiresAtMs: row.expires_at,
    settledAtMs: row.settled_at,
    reason: fromStoredOrNull(row.reason),
    manualRetries: row.manual_retries,
    ...progressOf(row),
  }
}

/** A row of a delivery that was just leased. */
export interface ClaimedRow extends ProgressRow {
  readonly id: number
  readonly message_id: string
  readonly type: EventType
  readonly accepted_at: number
  readonly due_at: number
  readonly body: string
  readonly traceparent: string | null
}

/** Makes a leased delivery from its row. */
export function leasedDelivery(
  row: ClaimedRow,
  destinationId: string,
  { lane, lease, leasedUntilMs }: Pick<LeasedDelivery, 'lane' | 'lease' | 'leasedUntilMs'>,
): LeasedDelivery {
  return {
    id: row.id,
    lease,
    destinationId,
    messageId: fromStored(row.message_id),
    type: row.type,
    body: fromStored(row.body),
    traceparent: row.traceparent ?? undefined,
    acceptedAtMs: row.accepted_at,
    lane,
    dueAtMs: row.due_at,
    leasedUntilMs,
    ...progressOf(row),
  }
}

function progressOf(row: ProgressRow): DeliveryProgress {
  return {
    attempts: row.attempts,
    windowAttempts: row.window_attempts,
    firstAttemptAtMs: row.first_attempt_at,
    holds: row.holds === '[]' ? [] : holdsOf(row.holds),
  }
}

/** Damaged text counts as no holds, so that a damaged row cannot stop delivery. */
function holdsOf(json: string): readonly EndpointHold[] {
  try {
    return JSON.parse(json) as readonly EndpointHold[]
  } catch {
    return []
  }
}

interface StoryRow extends LoggedRow {
  /** Null if the body is missing. */
  readonly body: string | null
}

type RequestRow = Omit<RequestRecord, 'destinationId' | 'deliveryId' | 'messageId'>

/** Reads a delivery with its body and requests; undefined if it does not exist. `ofDelivery` selects its requests. */
export function* storyOf(
  { destinationId, id }: DeliveryKey,
  ofDelivery: Sql,
): Script<DeliveryStory | undefined> {
  const isDelivery = sql`delivery.destination_id = ${toStored(destinationId)} AND delivery.id = ${id}`
  const row = yield* firstRow<StoryRow>(sql`
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
  const delivery = loggedDelivery(row, row.body)
  const { messageId } = delivery
  return {
    ...delivery,
    body: fromStored(row.body ?? ''),
    requests: requests.map((request) => ({
      ...request,
      destinationId,
      deliveryId: id,
      messageId,
      url: fromStored(request.url),
      error: fromStoredOrNull(request.error),
      excerpt: fromStored(request.excerpt),
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
