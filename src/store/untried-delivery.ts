import type { LeasedDelivery, NewEvent } from '../delivery/index.ts'

/** A delivery that was just added. */
export interface AddedDelivery {
  readonly id: number
  readonly lease: number
  readonly destinationId: string
  readonly event: Pick<NewEvent, 'messageId' | 'type'>
  readonly body: string
}

/** Makes the leased delivery of a new delivery. No attempt was made yet. */
export function untriedDelivery(
  { id, lease, destinationId, event, body }: AddedDelivery,
  nowMs: number,
): LeasedDelivery {
  return {
    id,
    lease,
    destinationId,
    messageId: event.messageId,
    type: event.type,
    body,
    acceptedAtMs: nowMs,
    lane: 'first',
    dueAtMs: nowMs,
    attempts: 0,
    windowAttempts: 0,
    firstAttemptAtMs: null,
    holds: noHolds,
  }
}

const noHolds = Object.freeze([])
