import type { DeliveryFilter } from '../../delivery/index.ts'
import { toStored } from '../stored-text.ts'
import type { SqlValue } from './database.ts'

/** Conditions in SQL, each of which begins with `AND`. */
export interface Conditions {
  readonly sql: string
  readonly values: readonly SqlValue[]
}

/** The conditions of a filter. */
export function conditionsOf(filter: DeliveryFilter): Conditions {
  const asked: readonly (readonly [string, readonly SqlValue[] | undefined])[] = [
    ['id = ?', one(filter.id)],
    ['destination_id = ?', one(filter.destinationId, toStored)],
    ['message_id = ?', one(filter.messageId, toStored)],
    ['user_id = ?', one(filter.userId, toStored)],
    ['accepted_at >= ?', one(filter.sinceMs)],
    ['accepted_at < ?', one(filter.untilMs)],
    // The plus keeps SQLite from reading an index of states and sorting its rows.
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
