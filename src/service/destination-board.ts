import type { DestinationState } from '../admin-api/index.ts'
import type { DeliveryStore } from '../delivery/index.ts'
import type { Destination, EndpointChange } from '../model/index.ts'

/** Remembers how the endpoints of the configured destinations stand, for whoever asks. */
export class DestinationBoard {
  #destinations: readonly Destination[] = []
  readonly #changes = new Map<string, EndpointChange>()

  /** These are the destinations from now on; the breakers of new endpoints begin closed. */
  configure(destinations: readonly Destination[]): void {
    this.#destinations = destinations
    const keys = new Set(
      destinations.flatMap(({ id, endpoints }) => endpoints.map(({ url }) => keyOf(id, url))),
    )
    for (const key of this.#changes.keys()) if (!keys.has(key)) this.#changes.delete(key)
  }

  /** The breaker of an endpoint changed. */
  change(change: EndpointChange): void {
    this.#changes.set(keyOf(change.destinationId, change.url), change)
  }

  /** Every destination, with its books. */
  states(store: Pick<DeliveryStore, 'ledger'>): Promise<readonly DestinationState[]> {
    return Promise.all(
      this.#destinations.map(async ({ id, enabled, sourceIds, endpoints }) => {
        const ledger = await store.ledger({ destinationId: id })
        const { deliveries, delivered, failed, expired, pending } = ledger
        return {
          id,
          enabled,
          sourceIds,
          endpoints: endpoints.map(({ url }) => this.#endpoint(id, url)),
          ledger: { deliveries, delivered, failed, expired, pending },
        }
      }),
    )
  }

  #endpoint(destinationId: string, url: string): DestinationState['endpoints'][number] {
    const change = this.#changes.get(keyOf(destinationId, url))
    return { url, breaker: change?.state ?? 'closed', probeAtMs: change?.probeAtMs ?? null }
  }
}

function keyOf(destinationId: string, url: string): string {
  return JSON.stringify([destinationId, url])
}
