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

/** How an event is routed, and its deliveries. */
export interface EventPlan {
  /** The router's decision for each destination of the source. */
  readonly decisions: readonly RoutingDecision[]
  readonly deliveries: readonly NewDelivery[]
}

/** Routes an event, and builds the bodies of its deliveries. Pure. */
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
  readonly userId: string
  /** When the deletion was requested, in ISO 8601; the time of arrival if absent or unreadable. */
  readonly timestamp?: string | undefined
  /** Lets a client repeat a request: events with the same messageId are stored once. A new id by default. */
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
