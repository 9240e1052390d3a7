import type { DeliveryFilter } from '../../delivery/index.ts'
import { toStored } from '../stored-text.ts'

/** How an engine writes conditions. */
export interface ConditionWords {
  /** Adds a value to the statement, and returns its parameter. */
  readonly bind: (value: string | number) => string
  /** The column of states; `state` by default. */
  readonly state?: string
}

/** Writes the conditions of a filter. Each begins with `AND`. */
export function conditionsOf(
  filter: DeliveryFilter,
  { bind, state = 'state' }: ConditionWords,
): string {
  const text = (value: string): string => bind(toStored(value))
  const among = (values: readonly string[]): string => `(${values.map(bind).join(', ') || 'NULL'})`
  const asked = [
    when(filter.id, (id) => `id = ${bind(id)}`),
    when(filter.destinationId, (id) => `destination_id = ${text(id)}`),
    when(filter.messageId, (id) => `message_id = ${text(id)}`),
    when(filter.userId, (id) => `user_id = ${text(id)}`),
    when(filter.sinceMs, (sinceMs) => `accepted_at >= ${bind(sinceMs)}`),
    when(filter.untilMs, (untilMs) => `accepted_at < ${bind(untilMs)}`),
    when(filter.states, (states) => `${state} IN ${among(states)}`),
    when(filter.types, (types) => `type IN ${among(types)}`),
  ]
  return asked.flatMap((condition) => (condition === undefined ? [] : `AND ${condition}`)).join(' ')
}

function when<Value>(
  value: Value | undefined,
  condition: (value: Value) => string,
): string | undefined {
  return value === undefined ? undefined : condition(value)
}
