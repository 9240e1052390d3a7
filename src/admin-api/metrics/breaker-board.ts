import { endpointName, type EndpointChange } from '../../model/index.ts'

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

/** The states that are told, the gravest first. */
export const breakerStates: readonly EndpointChange['state'][] = ['open', 'recovering', 'closed']

/** Remembers how the breakers of the configured endpoints stand; they begin closed. */
export class BreakerBoard {
  #states: ReadonlyMap<string, Map<string, EndpointChange['state']>> = new Map()

  /** Forgets the endpoints that are not there any more, and takes in new ones. */
  configure(destinations: readonly EndpointNames[]): void {
    const before = this.#states
    this.#states = new Map(
      destinations.map(({ id, endpoints }) => [
        id,
        new Map(endpoints.map(({ url }) => [url, before.get(id)?.get(url) ?? 'closed'])),
      ]),
    )
  }

  /** The breaker of an endpoint changed. */
  change({ destinationId, url, state }: EndpointChange): void {
    const endpoints = this.#states.get(destinationId)
    if (endpoints?.has(url) === true) endpoints.set(url, state)
  }

  /** Every endpoint; of several that have the same name, the one that is worst off. */
  standings(): readonly BreakerStanding[] {
    const standings: BreakerStanding[] = []
    for (const [destination, endpoints] of this.#states) {
      const names = new Set([...endpoints.keys()].map(endpointName))
      for (const endpoint of names) {
        const among = [...endpoints].filter(([url]) => endpointName(url) === endpoint)
        const state = breakerStates.find((each) => among.some(([, one]) => one === each))
        if (state !== undefined) standings.push({ destination, endpoint, state })
      }
    }
    return standings
  }
}
