import type {
  DeliveryProgress,
  LeasedDelivery,
  LoggedDelivery,
  NewDelivery,
  NewEvent,
} from '../../delivery/index.ts'
import type { EventType, Lane, RequestRecord } from '../../model/index.ts'

/** How a delivery came to its end. */
export interface DeliveryEnd {
  /** Where it ended. */
  readonly state: 'delivered' | 'failed' | 'expired'
  /** When, in milliseconds since 1970. */
  readonly atMs: number
  /** Why it was not delivered; null when it was. */
  readonly reason: string | null
}

/** A delivery as it is kept, from its acceptance until it is forgotten. */
export interface StoredDelivery {
  readonly destinationId: string
  readonly id: number
  readonly sourceId: string
  messageId: string
  readonly type: EventType
  userId: string | null
  /** The id that an alias replaces; null on everything else. */
  previousId: string | null
  body: string
  /** Length of the body in UTF-8. */
  readonly bodyBytes: number
  /** In milliseconds since 1970, as is `dueAtMs`. */
  readonly acceptedAtMs: number
  readonly requests: RequestRecord[]
  lane: Lane
  dueAtMs: number
  progress: DeliveryProgress
  expiresAtMs: number | null
  manualRetries: number
  /** Whom it is about was taken out of it. */
  isErased: boolean
  /** The object that was given out for it; undefined while it waits and after its end. */
  lease: LeasedDelivery | undefined
  /** Undefined while it is pending. */
  end: DeliveryEnd | undefined
}

/** What of a delivery comes with its making. */
export type DeliveryOrigin = Pick<
  StoredDelivery,
  | 'sourceId'
  | 'messageId'
  | 'type'
  | 'userId'
  | 'previousId'
  | 'destinationId'
  | 'body'
  | 'bodyBytes'
>

/** Reads an event's delivery once and for all. */
export function deliveryOrigin(event: NewEvent, delivery: NewDelivery): DeliveryOrigin {
  const { sourceId, messageId, type, userId, previousId = null } = event
  const { destinationId, body } = delivery
  const bodyBytes = Buffer.byteLength(body)
  return { sourceId, messageId, type, userId, previousId, destinationId, body, bodyBytes }
}

/** Makes a delivery that is due at once in the lane `first`. */
export function storedDelivery(origin: DeliveryOrigin, id: number, nowMs: number): StoredDelivery {
  const { sourceId, messageId, type, userId, previousId, destinationId, body, bodyBytes } = origin
  return {
    // Not spread: that takes Node 20 fifty times as long, and leaves kilobytes behind for each.
    destinationId,
    id,
    sourceId,
    messageId,
    type,
    userId,
    previousId,
    body,
    bodyBytes,
    acceptedAtMs: nowMs,
    requests: [],
    lane: 'first',
    dueAtMs: nowMs,
    progress: { attempts: 0, ...newWindow },
    expiresAtMs: null,
    manualRetries: 0,
    isErased: false,
    lease: undefined,
    end: undefined,
  }
}

/** The progress of a retry window that has not begun. */
export const newWindow: Omit<DeliveryProgress, 'attempts'> = Object.freeze({
  windowAttempts: 0,
  firstAttemptAtMs: null,
  holds: [],
})

/** Gives a delivery out. */
export function lease(delivery: StoredDelivery): LeasedDelivery {
  const { id, destinationId, messageId, type, body, acceptedAtMs, lane, dueAtMs } = delivery
  const { attempts, windowAttempts, firstAttemptAtMs, holds } = delivery.progress
  delivery.lease = {
    id,
    destinationId,
    messageId,
    type,
    body,
    acceptedAtMs,
    lane,
    dueAtMs,
    attempts,
    windowAttempts,
    firstAttemptAtMs,
    holds,
  }
  return delivery.lease
}

/** A delivery as the log lists it. */
export function loggedDelivery(delivery: StoredDelivery): LoggedDelivery {
  const { destinationId, id, sourceId, messageId, type, userId, end } = delivery
  return {
    destinationId,
    id,
    sourceId,
    messageId,
    type,
    userId,
    state: end?.state ?? 'pending',
    lane: delivery.lane,
    acceptedAtMs: delivery.acceptedAtMs,
    dueAtMs: end === undefined ? delivery.dueAtMs : null,
    expiresAtMs: delivery.expiresAtMs,
    settledAtMs: end?.atMs ?? null,
    reason: end?.reason ?? null,
    manualRetries: delivery.manualRetries,
    ...delivery.progress,
  }
}
