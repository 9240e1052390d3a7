import type { LeasedDelivery, NewEvent } from '../delivery/index.ts'

/** A delivery that was added now. */
export interface AddedDelivery {
  readonly id: number
  readonly lease: number
  readonly destinationId: string
  readonly event: Pick<NewEvent, 'messageId' | 'type'>
  readonly body: string
}

/** What is handed over of a delivery that was added at a moment: nobody has tried it. */
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
