import type { DeliveryFilter, LoggedDelivery, LoggedState } from '../../delivery/index.ts'
import type { EventType, Lane } from '../../model/index.ts'
import type { SqlValue } from './database.ts'
import { progressOf } from './statements.ts'
import { fromStored, fromStoredOrNull, toStored } from './stored-text.ts'

/** The columns of {@link LoggedRow}. */
export const loggedColumns = `destination_id, id, source_id, message_id, type, user_id, body_id, state,
  lane, accepted_at, due_at, attempts, window_attempts, first_attempt_at, expires_at, holds, reason,
  settled_at, manual_retries`

/** A delivery as it stands in the file. */
export interface LoggedRow {
  readonly destination_id: string
  readonly id: number
  readonly source_id: string
  readonly message_id: string
  readonly type: EventType
  readonly user_id: string | null
  readonly body_id: number
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

/** Conditions in SQL, each of which begins with `AND`. */
export interface Conditions {
  readonly sql: string
  readonly values: readonly SqlValue[]
}

/** What a filter asks of a row. */
export function conditionsOf(filter: DeliveryFilter): Conditions {
  const asked: readonly (readonly [string, readonly SqlValue[] | undefined])[] = [
    ['id = ?', one(filter.id)],
    ['destination_id = ?', one(filter.destinationId, toStored)],
    ['message_id = ?', one(filter.messageId, toStored)],
    ['user_id = ?', one(filter.userId, toStored)],
    ['accepted_at >= ?', one(filter.sinceMs)],
    ['accepted_at < ?', one(filter.untilMs)],
    // The plus keeps SQLite from reading an index of states that it would have to sort.
    [`+state IN (${places(filter.states)})`, filter.states],
    [`type IN (${places(filter.types)})`, filter.types],
  ]
  const present = asked.flatMap(([sql, values]) => (values === undefined ? [] : [{ sql, values }]))
  return {
    sql: present.map(({ sql }) => `AND ${sql}`).join(' '),
    values: present.flatMap(({ values }) => values),
  }
}

function one<Value extends SqlValue>(
  value: Value | undefined,
  stored: (value: Value) => SqlValue = (same) => same,
): readonly SqlValue[] | undefined {
  return value === undefined ? undefined : [stored(value)]
}

function places(values: readonly unknown[] = []): string {
  return values.map(() => '?').join(', ')
}
