import type { AddRequest, LeasedDelivery } from '../delivery/index.ts'
import type { GivenUpDeliveries, GivenUpReason } from '../model/index.ts'

/** The reason for a delivery that fails as soon as it is added. */
export const refusedReason: GivenUpReason & 'backlog_full' = 'backlog_full'

/**
 * The reason for a delivery that an erasure ended. It also replaces the reason of a delivery that failed
 * earlier.
 */
export const erasedReason = 'erased'

/** Counts deliveries by destination. `destinationIds` has an entry for each delivery. */
export function countRefused(
  destinationIds: readonly string[],
  reason: GivenUpReason = refusedReason,
): readonly GivenUpDeliveries[] {
  const counts = new Map<string, number>()
  for (const id of destinationIds) counts.set(id, (counts.get(id) ?? 0) + 1)
  return Array.from(counts, ([destinationId, deliveries]) => ({
    destinationId,
    reason,
    deliveries,
  }))
}

/** A delivery that was leased as it was added. The caller of `add` has its other fields. */
export interface HandedOver {
  /** The index of its event in the batch. */
  readonly eventPlace: number
  /** Its index among the deliveries of the event. */
  readonly place: number
  /** Its id. */
  readonly id: number
  /** Its lease. */
  readonly lease: number
}

/** Makes the leased deliveries of a batch, which were never attempted. */
export function leasedOf(
  { nowMs, events, traceparent }: AddRequest,
  handedOver: readonly HandedOver[],
): readonly LeasedDelivery[] {
  return handedOver.flatMap(({ eventPlace, place, id, lease }) => {
    const event = events[eventPlace]
    const delivery = event?.deliveries[place]
    if (event === undefined || delivery === undefined) return []
    return {
      id,
      lease,
      destinationId: delivery.destinationId,
      messageId: event.messageId,
      type: event.type,
      body: delivery.body,
      traceparent,
      acceptedAtMs: nowMs,
      lane: 'first' as const,
      dueAtMs: nowMs,
      attempts: 0,
      windowAttempts: 0,
      firstAttemptAtMs: null,
      holds: noHolds,
    }
  })
}

const noHolds = Object.freeze([])
