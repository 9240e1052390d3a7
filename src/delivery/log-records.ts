import { formatTimestamp, type RequestRecord } from '../model/index.ts'
import { auditEquations, type AuditEquation } from './audit.ts'
import { formatDeliveryId } from './delivery-id.ts'
import type { DeliveryStory, LoggedDelivery, StoreAudit } from './log-port.ts'

/** The last time that a Date can represent. A `Retry-After` may ask for a later one. */
const latestMs = 8_640_000_000_000_000

/** Makes a record of a delivery without its body and requests. */
export function loggedDeliveryRecord(delivery: LoggedDelivery) {
  return { kind: 'delivery' as const, ...deliveryFields(delivery) }
}

/** Makes a record of a delivery with its body and requests. */
export function storyRecord(story: DeliveryStory) {
  return {
    kind: 'story' as const,
    delivery: deliveryFields(story),
    requests: story.requests.map(requestFields),
    body: story.body,
  }
}

/** Checks whether the counts of a store balance, and makes a JSON record. */
export function auditRecord(audit: StoreAudit) {
  const wrong = auditEquations(audit).filter(({ difference }) => difference !== 0)
  const imbalances = wrong.map((equation) => ({
    equation: equationText(equation, String),
    difference: equation.difference,
  }))
  const balanced = wrong.length === 0
  return { kind: 'audit' as const, balanced, ...audit, imbalances }
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
  return instantMs === null ? null : iso(instantMs)
}

function iso(instantMs: number): string {
  return formatTimestamp(withinDates(instantMs))
}

function deliveryFields(delivery: LoggedDelivery) {
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
    acceptedAt: iso(delivery.acceptedAtMs),
    firstAttemptAt: isoOrNull(delivery.firstAttemptAtMs),
    dueAt: isoOrNull(delivery.dueAtMs),
    expiresAt: isoOrNull(delivery.expiresAtMs),
    settledAt: isoOrNull(delivery.settledAtMs),
    holds: delivery.holds.map(({ url, untilMs }) => ({ url, until: isoOrNull(untilMs) })),
  }
}

function requestFields(request: RequestRecord) {
  const { url, lane, attempt, outcome, status, error, durationMs, atMs, excerpt } = request
  const at = iso(atMs)
  return { url, lane, attempt, outcome, status, error, ms: durationMs, at, excerpt }
}
