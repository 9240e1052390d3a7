import type { Backlog, DeliveryStore } from '../delivery/index.ts'
import { messageOf, type Destination } from '../model/index.ts'
import type { Log } from '../runtime/index.ts'

interface OrphanedBacklogsRequest {
  readonly store: Pick<DeliveryStore, 'destinationCounts'>
  readonly destinations: readonly Pick<Destination, 'id'>[]
}

/** Lists the destinations that are not configured and have pending deliveries. Nothing sends these. */
export async function orphanedBacklogs({
  store,
  destinations,
}: OrphanedBacklogsRequest): Promise<readonly Backlog[]> {
  const configured = new Set(destinations.map(({ id }) => id))
  const counts = await store.destinationCounts()
  return counts.filter(
    ({ destinationId, pending }) => pending > 0 && !configured.has(destinationId),
  )
}

/** Logs each destination that is not configured and has pending deliveries; with `among`, only destinations in it. */
export async function logOrphanedBacklogs(
  request: OrphanedBacklogsRequest,
  log: Log,
  among?: ReadonlySet<string>,
): Promise<void> {
  try {
    for (const { destinationId: destination, pending } of await orphanedBacklogs(request)) {
      if (among?.has(destination) === false) continue
      const message =
        'deliveries wait for a destination that is not configured: add the destination again, or discard its deliveries'
      log.warn(message, { destination, deliveries: pending })
    }
  } catch (error) {
    log.warn('cannot tell whether deliveries wait for destinations that are not configured', {
      error: messageOf(error),
    })
  }
}
