import type { DeliveryFilter, LeasedDelivery } from '../../delivery/index.ts'
import { progressOf } from '../log/index.ts'
import { fromStored, toStored } from '../stored-text.ts'
import type { LeaseTerm } from './lease-term.ts'
import type { ClaimedRow } from './claim-statement.ts'
import type { SqlValue } from '../sql/index.ts'

/** Makes a leased delivery from its row. */
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

/** The conditions of a filter, without its destination. */
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
