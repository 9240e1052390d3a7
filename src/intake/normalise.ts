import {
  formatTimestamp,
  hasFourDigitYear,
  isJsonObject,
  liftIntegrations,
  limits,
  parseTimestamp,
  type AnalyticsEvent,
  type CallType,
  type JsonObject,
  type JsonValue,
} from '../model/index.ts'

/** Facts about a call's arrival, which its own fields don't contain. */
export interface Arrival {
  readonly sourceId: string
  readonly receivedAtMs: number
  /** Makes the id of a call that has none. */
  readonly newId: () => string
  /** When the batch was sent, in milliseconds since 1970; null if unknown. See `sentAt` of `IntakeBatch`. */
  readonly sentAtMs?: number | null
}

/** The event that a call became. */
export interface Normalised {
  readonly event: AnalyticsEvent
  /** Whether the call's timestamp is unreadable, so that the event has the time of arrival instead. */
  readonly timestampUnreadable: boolean
}

/** An unfinished event. Assigning its fields is several times as fast as spreading them. */
type Draft = { -readonly [Field in keyof AnalyticsEvent]: AnalyticsEvent[Field] }

const idFields = ['userId', 'anonymousId', 'previousId', 'groupId'] as const
const textFields = ['event', 'name', 'category'] as const
const objectFields = ['properties', 'traits'] as const

/**
 * Turns a checked call into an event: ids become strings, null fields are dropped, the timestamp is corrected by the
 * error of the sender's clock, and `context.integrations` moves to the top level.
 */
export function normalise(type: CallType, given: JsonObject, arrival: Arrival): Normalised {
  const call = liftIntegrations(given)
  const instant = instantOf(call, arrival)
  const event: Draft = {
    messageId: idOf(call['messageId']) ?? arrival.newId(),
    type,
    sourceId: arrival.sourceId,
    receivedAtMs: arrival.receivedAtMs,
    timestamp: formatTimestamp(instant.atMs),
    historical: arrival.receivedAtMs - instant.atMs > limits.historicalAgeMs,
    context: objectOf(call['context']) ?? {},
    integrations: objectOf(call['integrations']) ?? {},
  }
  for (const field of idFields) set(event, field, idOf(call[field]))
  for (const field of textFields) set(event, field, textOf(call[field]))
  for (const field of objectFields) set(event, field, objectOf(call[field]))
  return { event, timestampUnreadable: instant.unreadable }
}

function instantOf(
  call: JsonObject,
  arrival: Arrival,
): { readonly atMs: number; readonly unreadable: boolean } {
  const timestampMs = parseTimestamp(call['timestamp'])
  const originalMs = parseTimestamp(call['originalTimestamp'])
  const givenMs = timestampMs ?? originalMs
  // If a call has both fields, its sender or another service has already corrected `timestamp`.
  const isCorrected = timestampMs !== undefined && originalMs !== undefined
  const atMs =
    givenMs === undefined || isCorrected ? givenMs : givenMs + skewMs(call, givenMs, arrival)
  if (atMs !== undefined && hasFourDigitYear(atMs)) return { atMs, unreadable: false }
  const given = call['timestamp'] ?? call['originalTimestamp'] ?? null
  return { atMs: arrival.receivedAtMs, unreadable: given !== null }
}

/** A call's timestamp may be this much later than its `sentAt`, because senders round the two times differently. */
const roundingMs = 60_000

/**
 * Returns how far the sender's clock is behind this one. A call's own `sentAt` is more precise than the batch's, so it
 * takes precedence. Returns 0 if the timestamp is clearly later than `sentAt`: the two then come from different clocks.
 */
function skewMs(call: JsonObject, givenMs: number, { receivedAtMs, sentAtMs }: Arrival): number {
  if (sentAtMs === undefined) return 0
  const sentMs = parseTimestamp(call['sentAt']) ?? sentAtMs
  return sentMs === null || givenMs > sentMs + roundingMs ? 0 : receivedAtMs - sentMs
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

function set<Field extends keyof AnalyticsEvent>(
  event: Pick<Draft, Field>,
  field: Field,
  value: Draft[Field] | undefined,
): void {
  if (value !== undefined) event[field] = value
}
