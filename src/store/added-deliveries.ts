import type { GivenUpDeliveries, GivenUpReason } from '../model/index.ts'

/** Why a delivery failed that fails as soon as it is added. */
export const refusedReason: GivenUpReason & 'backlog_full' = 'backlog_full'

/**
 * Why a delivery failed that an erasure ended. It also replaces the reason of a delivery that failed
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
