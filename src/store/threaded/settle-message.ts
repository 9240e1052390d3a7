import type { Lease, SettleRequest } from '../../delivery/index.ts'

/**
 * Writes settlements and requests as text for the store's thread, without the webhooks: text takes less time to
 * send than objects.
 */
export function settleMessage({ nowMs, settlements, requests }: SettleRequest): string {
  const ends = settlements.map((each) => ({ ...each, delivery: leaseOf(each.delivery) }))
  return JSON.stringify({ nowMs, settlements: ends, requests })
}

function leaseOf({ id, destinationId, lease, lane }: Lease): Lease {
  return { id, destinationId, lease, lane }
}
