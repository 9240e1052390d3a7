import type { DeliveryStory, LoggedDelivery } from '../../delivery/index.ts'
import type { RequestRecord } from '../../model/index.ts'
import { formatDeliveryId } from './delivery-id.ts'
import { isoOrNull } from './moments.ts'

type Fields = Readonly<Record<string, unknown>>

/** A delivery of the log as a record for programs. */
export function loggedDeliveryRecord(delivery: LoggedDelivery): Fields {
  return { kind: 'delivery', ...deliveryFields(delivery) }
}

/** A delivery with all that happened to it as a record for programs. */
export function storyRecord(story: DeliveryStory): Fields {
  return {
    kind: 'story',
    delivery: deliveryFields(story),
    requests: story.requests.map(requestFields),
    body: story.body,
  }
}

function deliveryFields(delivery: LoggedDelivery): Fields {
  return {
    id: formatDeliveryId(delivery),
    messageId: delivery.messageId,
    type: delivery.type,
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

function requestFields(request: RequestRecord): Fields {
  const { url, lane, attempt, outcome, status, error, durationMs, atMs, excerpt } = request
  const at = isoOrNull(atMs)
  return { url, lane, attempt, outcome, status, error, ms: durationMs, at, excerpt }
}
