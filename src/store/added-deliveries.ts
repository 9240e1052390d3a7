import type { GivenUpDeliveries, GivenUpReason } from '../model/index.ts'

/** The failure reason of deliveries that arrive while their destination's backlog is full. */
export const refusedReason: GivenUpReason & 'backlog_full' = 'backlog_full'

/** Counts given-up deliveries per destination; `destinationIds` has an entry for each delivery. */
export function givenUpByDestination(
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
