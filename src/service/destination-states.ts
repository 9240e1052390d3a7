import type { DestinationState, EndpointState } from '../admin-api/index.ts'
import type { DeliveryStore, EndpointFaults } from '../delivery/index.ts'
import type { Destination } from '../model/index.ts'

/** What is known of destinations beside their settings. */
export interface DestinationKnowledge {
  /** Has their counts. */
  readonly store: Pick<DeliveryStore, 'ledger'>
  /** How an endpoint stands. */
  readonly breakers: {
    /** The state of the breaker of one. */
    endpoint(destinationId: string, url: string): Omit<EndpointState, 'faults'>
  }
  /** Knows which endpoints fail webhooks for good. */
  readonly faults: Pick<EndpointFaults, 'of'>
}

/** The states of destinations, with their counts. */
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
