import type { DestinationState, EndpointState, SourcesState } from '../admin-api/index.ts'
import type { DeliveryStore, DestinationFaults } from '../delivery/index.ts'
import type { Destination } from '../model/index.ts'
import type { Configuration } from './configuration/index.ts'
import type { ServiceAddress } from './service-options.ts'

interface DestinationKnowledge {
  readonly store: Pick<DeliveryStore, 'ledger'>
  readonly breakers: {
    endpoint(destinationId: string, url: string): Omit<EndpointState, 'faults'>
  }
  readonly faults: Pick<DestinationFaults, 'of'>
}

/** Collects the state and the delivery counts of each destination. */
export function destinationStates(
  destinations: readonly Destination[],
  { store, breakers, faults }: DestinationKnowledge,
): Promise<readonly DestinationState[]> {
  return Promise.all(
    destinations.map(async ({ id, enabled, sourceIds, filter, endpoints }) => {
      const ledger = await store.ledger({ destinationId: id })
      const { deliveries, delivered, failed, expired, pending } = ledger
      return {
        id,
        enabled,
        sourceIds,
        filter: filter?.text,
        endpoints: endpoints.map(({ url, rate }) => ({
          ...breakers.endpoint(id, url),
          rate,
          faults: faults.of(id, url),
        })),
        ledger: { deliveries, delivered, failed, expired, pending },
      }
    }),
  )
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
