import { hiddenEndpoint, type EndpointChange } from '../../model/index.ts'
import type { EndpointState } from '../ports.ts'

/** A configured destination and its endpoints. */
export interface EndpointNames {
  readonly id: string
  readonly endpoints: readonly { readonly url: string }[]
}

/** The state of an endpoint's breaker. */
export interface BreakerStanding {
  readonly destination: string
  /** The URL without its secret parts. */
  readonly endpoint: string
  readonly state: EndpointChange['state']
}

/** The states of a breaker, as metrics and the API report them. */
export const breakerStates: readonly EndpointChange['state'][] = ['open', 'recovering', 'closed']

/** Remembers the breaker states of the configured endpoints, which start closed. */
export class BreakerBoard {
  #changes: ReadonlyMap<string, Map<string, EndpointChange | undefined>> = new Map()

  /** URLs without their secret parts, by destination and URL. Kept, because making each takes a digest. */
  #names: ReadonlyMap<string, ReadonlyMap<string, string>> = new Map()

  /** Adds new endpoints, and forgets removed ones. */
  configure(destinations: readonly EndpointNames[]): void {
    const before = this.#changes
    this.#names = new Map(
      destinations.map(({ id, endpoints }) => [
        id,
        new Map(endpoints.map(({ url }) => [url, hiddenEndpoint(url)])),
      ]),
    )
    this.#changes = new Map(
      destinations.map(({ id, endpoints }) => [
        id,
        new Map(endpoints.map(({ url }) => [url, before.get(id)?.get(url)])),
      ]),
    )
  }

  /** Notes a change of a breaker. */
  change(change: EndpointChange): void {
    const endpoints = this.#changes.get(change.destinationId)
    if (endpoints?.has(change.url) === true) endpoints.set(change.url, change)
  }

  /** The URL of an endpoint without its secret parts; undefined if the endpoint is not configured. */
  nameOf(destinationId: string, url: string): string | undefined {
    return this.#names.get(destinationId)?.get(url)
  }

  /** Whether the breakers of all endpoints of a destination are open. */
  areAllOpen(destinationId: string): boolean {
    const endpoints = this.#changes.get(destinationId) ?? new Map<string, undefined>()
    return endpoints.size > 0 && [...endpoints.values()].every((change) => change?.state === 'open')
  }

  /** The state of an endpoint. */
  endpoint(destinationId: string, url: string): Omit<EndpointState, 'faults'> {
    const change = this.#changes.get(destinationId)?.get(url)
    const { state = 'closed', probeAtMs = null, error = null } = change ?? {}
    return { url, breaker: state, probeAtMs, error }
  }

  /** The states of all endpoints. */
  standings(): readonly BreakerStanding[] {
    return [...this.#changes].flatMap(([destination, endpoints]) =>
      [...endpoints].map(([url, change]) => ({
        destination,
        endpoint: this.nameOf(destination, url) ?? '',
        state: change?.state ?? 'closed',
      })),
    )
  }
}
