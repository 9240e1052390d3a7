import type {
  DeliveryProgress,
  EndpointHold,
  LoggedDelivery,
  LoggedState,
} from '../../delivery/index.ts'
import type { EventType, Lane } from '../../model/index.ts'
import { DamagedRowError } from '../store-errors.ts'
import { fromStored, fromStoredOrNull } from '../stored-text.ts'

/** The columns of {@link LoggedRow}, of a table with the name `delivery`. */
export const loggedColumns = `delivery.destination_id, delivery.id, source_id, message_id, type, user_id,
  state, lane, accepted_at, due_at, attempts, window_attempts, first_attempt_at, expires_at, holds,
  reason, settled_at, manual_retries`

/** The columns with the progress of a delivery. */
export interface ProgressRow {
  readonly attempts: number
  readonly window_attempts: number
  readonly first_attempt_at: number | null
  readonly holds: string
}

/** A row of a delivery. */
export interface LoggedRow extends ProgressRow {
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

/** Makes a delivery of the log from its row. */
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

/**
 * Reads the progress of a delivery from its row.
 *
 * @throws DamagedRowError if the row is damaged
 */
export function progressOf(row: ProgressRow): DeliveryProgress {
  return {
    attempts: row.attempts,
    windowAttempts: row.window_attempts,
    firstAttemptAtMs: row.first_attempt_at,
    holds: row.holds === '[]' ? [] : holdsOf(row.holds),
  }
}

function holdsOf(json: string): readonly EndpointHold[] {
  try {
    return JSON.parse(json) as readonly EndpointHold[]
  } catch (cause) {
    throw new DamagedRowError('the endpoints that a delivery leaves out cannot be read', { cause })
  }
}
