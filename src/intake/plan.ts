import type { NewDelivery } from '../delivery/index.ts'
import {
  formatTimestamp,
  parseTimestamp,
  type AnalyticsEvent,
  type Destination,
} from '../model/index.ts'
import { route, type RoutingDecision } from '../router/index.ts'
import { buildWebhookBody } from '../webhook/index.ts'
import type { Arrival } from './normalise.ts'

/** The plan for an event: the router's decisions, and a delivery for each destination that takes it. */
export interface EventPlan {
  /** One for each destination that was considered. */
  readonly decisions: readonly RoutingDecision[]
  /** One for each destination that gets the event, with the exact text to send. */
  readonly deliveries: readonly NewDelivery[]
}

/** Routes an event and builds its bodies. Pure: nothing is stored or sent. */
export function planEvent(event: AnalyticsEvent, destinations: readonly Destination[]): EventPlan {
  const decisions = route(event, destinations)
  const deliveries: NewDelivery[] = []
  for (const [index, { id, aliasKeys, backlogMax }] of destinations.entries()) {
    if (decisions[index]?.send !== true) continue
    const body = buildWebhookBody(event, aliasKeys)
    // A full backlog must not drop a deletion request.
    const isBounded = backlogMax !== undefined && event.type !== 'delete'
    deliveries.push(
      isBounded ? { destinationId: id, body, backlogMax } : { destinationId: id, body },
    )
  }
  return { decisions, deliveries }
}

/** A request to delete the stored data about a user. */
export interface DeletionRequest {
  /** The user to delete. */
  readonly userId: string
  /** When the deletion was requested, ISO 8601; the time of arrival if absent or unreadable. */
  readonly timestamp?: string | undefined
  /** Identifies the request, so that a repeated one is a duplicate; a new id if absent. */
  readonly messageId?: string | undefined
}

/** Makes the event whose webhook notifies destinations of a deletion request. */
export function deletionEvent(
  request: DeletionRequest,
  { sourceId, receivedAtMs, newId }: Arrival,
): AnalyticsEvent {
  return {
    messageId: request.messageId ?? newId(),
    type: 'delete',
    sourceId,
    receivedAtMs,
    timestamp: formatTimestamp(parseTimestamp(request.timestamp) ?? receivedAtMs),
    historical: false,
    userId: request.userId,
    context: {},
    integrations: {},
  }
}
