import type { DestinationFields, Metrics, SourcesState } from '../admin-api/index.ts'
import { isoOrNull, type DeliveryStore, type DestinationFaults } from '../delivery/index.ts'
import { emptyLedger, type Destination } from '../model/index.ts'
import type { Configuration } from './configuration/index.ts'
import type { ServiceAddress } from './service-options.ts'

interface DestinationKnowledge {
  readonly store: Pick<DeliveryStore, 'destinationCounts'>
  readonly breakers: Metrics['breakers']
  readonly faults: Pick<DestinationFaults, 'of'>
}

/** Collects the state and the counts of each destination. Names every field, so that no secret gets into an answer. */
export async function destinationStates(
  destinations: readonly Destination[],
  { store, breakers, faults }: DestinationKnowledge,
): Promise<readonly DestinationFields[]> {
  const counts = await store.destinationCounts()
  const byId = new Map(counts.map((each) => [each.destinationId, each]))
  return destinations.map(({ id, enabled, sourceIds: sources, filter, endpoints }) => {
    const { deliveries, delivered, failed, expired, pending } = byId.get(id) ?? emptyLedger
    const states = endpoints.map(({ url, rate }) => {
      const { state: breaker, probeAtMs } = breakers.endpoint(id, url)
      const lasting = faults.of(id, url).map(({ reason, failures, sinceMs, lastMs }) => {
        return { reason, failures, since: isoOrNull(sinceMs), last: isoOrNull(lastMs) }
      })
      const rated = rate === undefined ? {} : { rate }
      return { url, breaker, probeAt: isoOrNull(probeAtMs), ...rated, faults: lasting }
    })
    return {
      ...{ id, enabled, sources },
      ...(filter === undefined ? {} : { filter: filter.text }),
      ...{ endpoints: states, deliveries, delivered, failed, expired, pending },
    }
  })
}

/** Returns the configured sources with their destinations, and the URL that the sources send to. */
export function sourcesState(
  { listen, sources, destinations }: Configuration,
  { url }: Pick<ServiceAddress, 'url'>,
): SourcesState {
  const states = sources.map(({ id, enabled, writeKeys, archive }) => ({
    id,
    enabled,
    writeKeys,
    destinations: destinations
      .filter(({ sourceIds }) => sourceIds.includes(id))
      .map((each) => each.id),
    archived: archive !== undefined,
  }))
  return { url: listen.publicUrl ?? url, sources: states }
}
