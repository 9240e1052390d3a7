import { hiddenEndpoint, type EndpointChange } from '../../model/index.ts'
import type { EndpointState } from '../ports.ts'

/** A configured destination and where it sends. */
export interface EndpointNames {
  /** The destination. */
  readonly id: string
  /** Its endpoints. */
  readonly endpoints: readonly { readonly url: string }[]
}

/** How the breaker of an endpoint stands. */
export interface BreakerStanding {
  /** The destination. */
  readonly destination: string
  /** The endpoint, by the part of its URL that holds no secret. */
  readonly endpoint: string
  /** Where its breaker stands. */
  readonly state: EndpointChange['state']
}

/** The states that a breaker has. */
export const breakerStates: readonly EndpointChange['state'][] = ['open', 'recovering', 'closed']

/** Remembers how the breakers of the configured endpoints stand; they begin closed. */
export class BreakerBoard {
  #changes: ReadonlyMap<string, Map<string, EndpointChange | undefined>> = new Map()

  /** What endpoints are called, by destination and URL: made once, because a name takes a digest. */
  #names: ReadonlyMap<string, ReadonlyMap<string, string>> = new Map()

  /** Forgets the endpoints that are not there any more, and takes in new ones. */
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

  /** The breaker of an endpoint changed. */
  change(change: EndpointChange): void {
    const endpoints = this.#changes.get(change.destinationId)
    if (endpoints?.has(change.url) === true) endpoints.set(change.url, change)
  }

  /** The part of an endpoint's URL that holds no secret; undefined if the endpoint is not configured. */
  nameOf(destinationId: string, url: string): string | undefined {
    return this.#names.get(destinationId)?.get(url)
  }

  /** Whether the breakers of all endpoints of a destination are open. */
  areAllOpen(destinationId: string): boolean {
    const endpoints = this.#changes.get(destinationId) ?? new Map<string, undefined>()
    return endpoints.size > 0 && [...endpoints.values()].every((change) => change?.state === 'open')
  }

  /** How an endpoint of a destination stands. */
  endpoint(destinationId: string, url: string): Omit<EndpointState, 'faults'> {
    const change = this.#changes.get(destinationId)?.get(url)
    const { state = 'closed', probeAtMs = null, error = null } = change ?? {}
    return { url, breaker: state, probeAtMs, error }
  }

  /** How every endpoint stands. */
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
