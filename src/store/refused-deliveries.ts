import type { GivenUpDeliveries, GivenUpReason } from '../model/index.ts'

/** Why a delivery fails when it is added. */
export const refusedReason: GivenUpReason & 'backlog_full' = 'backlog_full'

/** Counts refused deliveries by destination; each stands in the list once per delivery. */
export function countRefused(destinationIds: readonly string[]): readonly GivenUpDeliveries[] {
  const counts = new Map<string, number>()
  for (const id of destinationIds) counts.set(id, (counts.get(id) ?? 0) + 1)
  return Array.from(counts, ([destinationId, deliveries]) => ({
    destinationId,
    reason: refusedReason,
    deliveries,
  }))
}
