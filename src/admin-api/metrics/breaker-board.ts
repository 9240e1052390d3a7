import { hiddenEndpoint, type EndpointChange } from '../../model/index.ts'

/** A destination and the URLs of its endpoints. */
export interface DestinationUrls {
  readonly id: string
  readonly endpoints: readonly { readonly url: string }[]
}

interface BoardEntry {
  /** The URL without its secret parts. */
  readonly name: string
  change: EndpointChange | undefined
}

/** The states of a breaker, as metrics and the API report them. */
export const breakerStates: readonly EndpointChange['state'][] = ['open', 'recovering', 'closed']

/** Remembers the breaker state of each configured endpoint. The breaker of a new endpoint is closed. */
export class BreakerBoard {
  /** By destination, then by URL. Entries keep their names, because computing them is slow: `hiddenEndpoint` hashes. */
  #endpoints: ReadonlyMap<string, ReadonlyMap<string, BoardEntry>> = new Map()

  /** Adds new endpoints, and forgets removed ones. Returns the names of the removed ones. */
  configure(destinations: readonly DestinationUrls[]) {
    const before = this.#endpoints
    const entryOf = (id: string, url: string): BoardEntry =>
      before.get(id)?.get(url) ?? { name: hiddenEndpoint(url), change: undefined }
    this.#endpoints = new Map(
      destinations.map(({ id, endpoints }) => [
        id,
        new Map(endpoints.map(({ url }) => [url, entryOf(id, url)])),
      ]),
    )
    return [...before].flatMap(([destination, entries]) =>
      [...entries]
        .filter(([url]) => this.nameOf(destination, url) === undefined)
        .map(([, { name }]) => ({ destination, endpoint: name })),
    )
  }

  knows(destinationId: string): boolean {
    return this.#endpoints.has(destinationId)
  }

  change(change: EndpointChange): void {
    const entry = this.#endpoints.get(change.destinationId)?.get(change.url)
    if (entry !== undefined) entry.change = change
  }

  /** Returns the URL of an endpoint without its secret parts; undefined if the endpoint is not configured. */
  nameOf(destinationId: string, url: string): string | undefined {
    return this.#endpoints.get(destinationId)?.get(url)?.name
  }

  areAllOpen(destinationId: string): boolean {
    const entries = [...(this.#endpoints.get(destinationId)?.values() ?? [])]
    return entries.length > 0 && entries.every(({ change }) => change?.state === 'open')
  }

  /** Returns the state of an endpoint. `probeAtMs` and `error` are null unless its breaker is open. */
  endpoint(
    destinationId: string,
    url: string,
  ): Pick<EndpointChange, 'state' | 'probeAtMs' | 'error'> {
    const { change } = this.#endpoints.get(destinationId)?.get(url) ?? {}
    return change ?? { state: 'closed', probeAtMs: null, error: null }
  }

  statuses() {
    return [...this.#endpoints].flatMap(([destination, entries]) =>
      [...entries.values()].map(({ name, change }) => ({
        destination,
        endpoint: name,
        state: change?.state ?? 'closed',
      })),
    )
  }
}
