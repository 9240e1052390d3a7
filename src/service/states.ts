import type { DestinationState, EndpointState, SourcesState } from '../admin-api/index.ts'
import type { DeliveryStore, DestinationFaults } from '../delivery/index.ts'
import { emptyLedger, type Destination } from '../model/index.ts'
import type { Configuration } from './configuration/index.ts'
import type { ServiceAddress } from './service-options.ts'

interface DestinationKnowledge {
  readonly store: Pick<DeliveryStore, 'destinationCounts'>
  readonly breakers: {
    endpoint(destinationId: string, url: string): Omit<EndpointState, 'faults'>
  }
  readonly faults: Pick<DestinationFaults, 'of'>
}

/** Collects the state and the delivery counts of each destination. */
export async function destinationStates(
  destinations: readonly Destination[],
  { store, breakers, faults }: DestinationKnowledge,
): Promise<readonly DestinationState[]> {
  const counts = await store.destinationCounts()
  const ledgers = new Map(counts.map(({ destinationId, ...ledger }) => [destinationId, ledger]))
  return destinations.map(({ id, enabled, sourceIds, filter, endpoints }) => ({
    id,
    enabled,
    sourceIds,
    filter: filter?.text,
    endpoints: endpoints.map(({ url, rate }) => ({
      ...breakers.endpoint(id, url),
      rate,
      faults: faults.of(id, url),
    })),
    ledger: ledgers.get(id) ?? emptyLedger,
  }))
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
