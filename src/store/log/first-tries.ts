import type { FirstTry, LeaseEnd, SettleRequest } from '../../delivery/index.ts'
import type { RequestRecord } from '../../model/index.ts'

/** A request as engines store it: without the messageId, which its delivery has. */
export type SentRequest = Omit<RequestRecord, 'messageId'>

/** Leases to end, and records of requests to store. */
export interface EndRequest<End extends LeaseEnd> extends Pick<SettleRequest, 'nowMs'> {
  readonly settlements: readonly End[]
  readonly requests: readonly SentRequest[]
}

/**
 * Calls `beginEnd` for each settlement. If it returns false, the lease has ended or is already ending, and nothing
 * but the first try of the settlement is stored, in the log of requests.
 */
export function beginEnds<End extends LeaseEnd>(
  batch: EndRequest<End>,
  beginEnd: (delivery: End['delivery']) => boolean,
): EndRequest<End> {
  const requests = [...batch.requests]
  const settlements = batch.settlements.filter((settlement) => {
    if (beginEnd(settlement.delivery)) return true
    requests.push(...requestsOf(settlement))
    return false
  })
  return { nowMs: batch.nowMs, settlements, requests }
}

/** Returns the successful first try in a settlement; undefined if it has none. */
export function firstTryOf(settlement: LeaseEnd): FirstTry | undefined {
  return settlement.kind === 'delivered' ? settlement.firstTry : undefined
}

/** Returns the successful first try in a settlement as a request; nothing if it has none. */
export function requestsOf(settlement: LeaseEnd): readonly SentRequest[] {
  const firstTry = firstTryOf(settlement)
  if (firstTry === undefined) return []
  const { destinationId, id: deliveryId, lane } = settlement.delivery
  const success = { attempt: 1, outcome: 'success', error: null } as const
  return [{ destinationId, deliveryId, lane, ...success, ...firstTry }]
}
