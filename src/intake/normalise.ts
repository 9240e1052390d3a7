import {
  formatTimestamp,
  isJsonObject,
  limits,
  parseTimestamp,
  type AnalyticsEvent,
  type CallType,
  type JsonObject,
  type JsonValue,
} from '../model/index.ts'

/** What is known of a call beside its own fields. */
export interface Arrival {
  /** The source that sent it. */
  readonly sourceId: string
  /** When it arrived. */
  readonly receivedAtMs: number
  /** The id it gets when it brings none. */
  readonly newId: () => string
  /** The moment of sending by the sender's clock; without it that clock is taken to be ours. */
  readonly sentAtMs?: number | undefined
}

/** An event and what had to be guessed to make it. */
export interface Normalised {
  /** The event. */
  readonly event: AnalyticsEvent
  /** True when the call had a timestamp that cannot be read; the event has the time of arrival. */
  readonly timestampUnreadable: boolean
}

/**
 * Makes an event of a checked call: ids become strings, absent and null fields go, the timestamp is
 * corrected for the sender's clock, `context.integrations` moves up.
 */
export function normalise(type: CallType, call: JsonObject, arrival: Arrival): Normalised {
  const instant = instantOf(call, arrival)
  const { context, integrations } = contextOf(call)
  const event: AnalyticsEvent = {
    messageId: idOf(call['messageId']) ?? arrival.newId(),
    type,
    sourceId: arrival.sourceId,
    receivedAtMs: arrival.receivedAtMs,
    timestamp: formatTimestamp(instant.atMs),
    historical: arrival.receivedAtMs - instant.atMs > limits.historicalAgeMs,
    ...present('userId', idOf(call['userId'])),
    ...present('anonymousId', idOf(call['anonymousId'])),
    ...present('previousId', idOf(call['previousId'])),
    ...present('groupId', idOf(call['groupId'])),
    ...present('event', textOf(call['event'])),
    ...present('name', textOf(call['name'])),
    ...present('category', textOf(call['category'])),
    ...present('properties', objectOf(call['properties'])),
    ...present('traits', objectOf(call['traits'])),
    context,
    integrations,
  }
  return { event, timestampUnreadable: instant.unreadable }
}

function instantOf(
  call: JsonObject,
  arrival: Arrival,
): { readonly atMs: number; readonly unreadable: boolean } {
  const given = call['originalTimestamp'] ?? call['timestamp']
  const originalMs = parseTimestamp(given)
  if (originalMs === undefined) {
    return { atMs: arrival.receivedAtMs, unreadable: given !== undefined && given !== null }
  }
  // A call's own sentAt is closer to its clock than the batch's.
  const sentAtMs = parseTimestamp(call['sentAt']) ?? arrival.sentAtMs
  const skewMs = sentAtMs === undefined ? 0 : arrival.receivedAtMs - sentAtMs
  return { atMs: originalMs + skewMs, unreadable: false }
}

function contextOf(call: JsonObject): { context: JsonObject; integrations: JsonObject } {
  const context = objectOf(call['context']) ?? {}
  const integrations = objectOf(call['integrations'])
  if (!Object.hasOwn(context, 'integrations')) return { context, integrations: integrations ?? {} }
  const { integrations: nested, ...rest } = context
  return { context: rest, integrations: integrations ?? objectOf(nested) ?? {} }
}

function idOf(value: JsonValue | undefined): string | undefined {
  if (typeof value === 'number') return String(value)
  return textOf(value)
}

function textOf(value: JsonValue | undefined): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

function objectOf(value: JsonValue | undefined): JsonObject | undefined {
  return isJsonObject(value) ? value : undefined
}

function present<Name extends string, Value>(
  name: Name,
  value: Value | undefined,
): Partial<Record<Name, Value>> {
  return value === undefined ? {} : ({ [name]: value } as Record<Name, Value>)
}
