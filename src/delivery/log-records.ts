import { formatTimestamp, type RequestRecord } from '../model/index.ts'
import { auditEquations, type AuditEquation } from './audit.ts'
import { formatDeliveryId } from './delivery-id.ts'
import type { DeliveryStory, LoggedDelivery, StoreAudit } from './log-port.ts'

/** A JSON record from the delivery log. Its field names are public API. */
export type LogRecord = Readonly<Record<string, unknown>>

/** A logged delivery as JSON. Times are ISO 8601 in UTC. */
export interface DeliveryFields
  extends
    LogRecord,
    Pick<
      LoggedDelivery,
      | 'messageId'
      | 'type'
      | 'eventName'
      | 'userId'
      | 'state'
      | 'lane'
      | 'attempts'
      | 'windowAttempts'
      | 'manualRetries'
      | 'reason'
    > {
  /** `<destination>/<number>`. */
  readonly id: string
  readonly source: string
  readonly destination: string
  /** When the event was accepted; never null. */
  readonly acceptedAt: string | null
  /** When the first round in the current retry window started; null until a retry is scheduled. */
  readonly firstAttemptAt: string | null
  /** When the next round is due; null unless the delivery is pending. */
  readonly dueAt: string | null
  /** When the retry window ends; null before the first failed round. */
  readonly expiresAt: string | null
  /** When the delivery ended; null while it is pending. */
  readonly settledAt: string | null
  /** Endpoints that get no requests for the delivery until the time `until`, or for good if it is null. */
  readonly holds: readonly { readonly url: string; readonly until: string | null }[]
}

/** A request to an endpoint as JSON. Times are ISO 8601 in UTC. */
export interface RequestFields
  extends
    LogRecord,
    Pick<RequestRecord, 'url' | 'lane' | 'attempt' | 'outcome' | 'status' | 'error' | 'excerpt'> {
  readonly ms: number
  readonly at: string | null
}

/** A delivery in a list. */
export type DeliveryListRecord = DeliveryFields & Readonly<Record<'kind', 'delivery'>>

/** A delivery with its body and its requests. */
export interface StoryRecord extends LogRecord {
  readonly kind: 'story'
  readonly delivery: DeliveryFields
  readonly requests: readonly RequestFields[]
  readonly body: string
}

/** The counts of a store, and whether they balance. */
export interface AuditRecord extends LogRecord, StoreAudit {
  readonly kind: 'audit'
  /** Whether all equations hold. */
  readonly balanced: boolean
  /** The equations that do not hold. */
  readonly imbalances: readonly { readonly equation: string; readonly difference: number }[]
}

/** The last time that a Date can represent. A `Retry-After` may ask for a later one. */
const latestMs = 8_640_000_000_000_000

/** Makes a record of a delivery without its body and requests. */
export function loggedDeliveryRecord(delivery: LoggedDelivery): DeliveryListRecord {
  return { kind: 'delivery', ...deliveryFields(delivery) }
}

/** Makes a record of a delivery with its body and requests. */
export function storyRecord(story: DeliveryStory): StoryRecord {
  return {
    kind: 'story',
    delivery: deliveryFields(story),
    requests: story.requests.map(requestFields),
    body: story.body,
  }
}

/** Checks whether the counts of a store balance, and makes a JSON record. */
export function auditRecord(audit: StoreAudit): AuditRecord {
  const wrong = auditEquations(audit).filter(({ difference }) => difference !== 0)
  const imbalances = wrong.map((equation) => ({
    equation: equationText(equation, String),
    difference: equation.difference,
  }))
  return { kind: 'audit', balanced: wrong.length === 0, ...audit, imbalances }
}

/** Writes an equation on one line, each of its counts with `format`. */
export function equationText(
  { whole, parts }: AuditEquation,
  format: (count: number) => string,
): string {
  const sum = parts.map(({ count, name }) => `${format(count)} ${name}`).join(' + ')
  const name = whole.count === 1 ? whole.name.replace(/^deliveries/, 'delivery') : whole.name
  return `${format(whole.count)} ${name} = ${sum === '' ? '0' : sum}`
}

/** Returns the nearest time that a Date can represent, in milliseconds since 1970. */
export function withinDates(instantMs: number): number {
  return Math.min(Math.max(instantMs, -latestMs), latestMs)
}

/** Formats a time as ISO 8601 in UTC; null stays null. */
export function isoOrNull(instantMs: number | null): string | null {
  return instantMs === null ? null : formatTimestamp(withinDates(instantMs))
}

function deliveryFields(delivery: LoggedDelivery): DeliveryFields {
  return {
    id: formatDeliveryId(delivery),
    messageId: delivery.messageId,
    type: delivery.type,
    eventName: delivery.eventName,
    userId: delivery.userId,
    source: delivery.sourceId,
    destination: delivery.destinationId,
    state: delivery.state,
    lane: delivery.lane,
    attempts: delivery.attempts,
    windowAttempts: delivery.windowAttempts,
    manualRetries: delivery.manualRetries,
    reason: delivery.reason,
    acceptedAt: isoOrNull(delivery.acceptedAtMs),
    firstAttemptAt: isoOrNull(delivery.firstAttemptAtMs),
    dueAt: isoOrNull(delivery.dueAtMs),
    expiresAt: isoOrNull(delivery.expiresAtMs),
    settledAt: isoOrNull(delivery.settledAtMs),
    holds: delivery.holds.map(({ url, untilMs }) => ({ url, until: isoOrNull(untilMs) })),
  }
}

function requestFields(request: RequestRecord): RequestFields {
  const { url, lane, attempt, outcome, status, error, durationMs, atMs, excerpt } = request
  const at = isoOrNull(atMs)
  return { url, lane, attempt, outcome, status, error, ms: durationMs, at, excerpt }
}
