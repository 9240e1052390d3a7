import type {
  DeliveryFilter,
  DeliveryProgress,
  EndpointHold,
  LeasedDelivery,
  LoggedDelivery,
  LoggedState,
} from '../../delivery/index.ts'
import type { EventType, Lane } from '../../model/index.ts'
import { fromStored, fromStoredOrNull, toStored } from '../stored-text.ts'
import type { LeaseTerm } from './lease-term.ts'
import type { ClaimedRow } from './claim-statement.ts'
import type { SqlValue } from '../sql/index.ts'

/** The columns of {@link LoggedRow}. */
export const loggedColumns = `delivery.destination_id, delivery.id, source_id, message_id, type, user_id,
  state, lane, accepted_at, due_at, attempts, window_attempts, first_attempt_at, expires_at, holds,
  reason, settled_at, manual_retries`

/** A delivery as it stands in the database. */
export interface LoggedRow {
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
  readonly attempts: number
  readonly window_attempts: number
  readonly first_attempt_at: number | null
  readonly expires_at: number | null
  readonly holds: string
  readonly reason: string | null
  readonly settled_at: number | null
  readonly manual_retries: number
}

/** A delivery as the log lists it. */
export function loggedDelivery(row: LoggedRow): LoggedDelivery {
  return {
    destinationId: fromStored(row.destination_id),
    id: row.id,
    sourceId: fromStored(row.source_id),
    messageId: fromStored(row.message_id),
    type: row.type,
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

/** A delivery out of its row, once it is leased. */
export function leasedDelivery(row: ClaimedRow, { number, untilMs }: LeaseTerm): LeasedDelivery {
  return {
    id: row.id,
    lease: number,
    destinationId: fromStored(row.destination_id),
    messageId: fromStored(row.message_id),
    type: row.type,
    body: fromStored(row.body),
    acceptedAtMs: row.accepted_at,
    lane: row.lane,
    dueAtMs: row.due_at,
    leasedUntilMs: untilMs,
    ...progressOf(row),
  }
}

/** Conditions on a delivery, each of which begins with `AND`, and their values. */
export interface Conditions {
  readonly sql: string
  readonly values: readonly SqlValue[]
}

/**
 * What a filter asks of a row, its destination aside.
 *
 * @param place - the place of its first value in the statement
 */
export function conditionsOf(filter: DeliveryFilter, place: number): Conditions {
  const asked: readonly (readonly [string, SqlValue | undefined])[] = [
    ['delivery.id =', filter.id],
    ['message_id =', storedOf(filter.messageId)],
    ['user_id =', storedOf(filter.userId)],
    ['accepted_at >=', filter.sinceMs],
    ['accepted_at <', filter.untilMs],
    ['state = ANY', filter.states],
    ['type = ANY', filter.types],
  ]
  const values: SqlValue[] = []
  const parts: string[] = []
  for (const [condition, value] of asked) {
    if (value === undefined) continue
    parts.push(`AND ${condition} ($${place + values.length})`)
    values.push(value)
  }
  return { sql: parts.join(' '), values }
}

function storedOf(text: string | undefined): string | undefined {
  return text === undefined ? undefined : toStored(text)
}

function progressOf(
  row: Pick<LoggedRow, 'attempts' | 'window_attempts' | 'first_attempt_at' | 'holds'>,
): DeliveryProgress {
  return {
    attempts: row.attempts,
    windowAttempts: row.window_attempts,
    firstAttemptAtMs: row.first_attempt_at,
    holds: row.holds === '[]' ? [] : (JSON.parse(row.holds) as readonly EndpointHold[]),
  }
}
