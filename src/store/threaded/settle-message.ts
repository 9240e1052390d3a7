import type { Lease, SettleRequest } from '../../delivery/index.ts'

/** Writes a batch as text without its webhooks. Text takes less time to send to the store's thread than objects. */
export function settleMessage({ nowMs, settlements, requests }: SettleRequest): string {
  const ends = settlements.map((each) => ({ ...each, delivery: leaseOf(each.delivery) }))
  return JSON.stringify({ nowMs, settlements: ends, requests })
}

function leaseOf({ id, destinationId, lease, lane }: Lease): Lease {
  return { id, destinationId, lease, lane }
}
