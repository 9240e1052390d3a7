/** How an alias spells its two ids: as the specification shows them, in camel case, or both ways. */
export type AliasKeys = 'spec' | 'camel' | 'both'

/** The name by which calls refer to webhook destinations in `integrations`. */
export const webhooksDestinationName = 'Webhooks'

/** One URL of a destination. */
export interface Endpoint {
  /** The full URL, http or https. */
  readonly url: string
  /** Static headers that are sent with every request. */
  readonly headers: Readonly<Record<string, string>>
}

/**
 * Formats a URL for people: without query and user name, which may be secrets. Text that is not a URL is cut
 * in the same way.
 */
export function endpointName(url: string): string {
  return url.replace(/[?#].*/s, '').replace(/^((?:[^/]*:)?\/\/)?[^/]*@/, '$1')
}

/** A configured Webhooks destination, checked and frozen. */
export interface Destination {
  /** Unique among the destinations. */
  readonly id: string
  /** The sources whose events it takes. */
  readonly sourceIds: readonly string[]
  /** Off means that nothing is sent to it. */
  readonly enabled: boolean
  /** One to five; one success among them is enough. */
  readonly endpoints: readonly Endpoint[]
  /** Signs every request when it is not empty. */
  readonly sharedSecret: string | undefined
  /** How an alias spells its ids. */
  readonly aliasKeys: AliasKeys
  /** Whether events that are more than a day old are sent. */
  readonly acceptsHistorical: boolean
  /** Upper bound of requests in flight per endpoint. */
  readonly concurrency: number
  /** Deliveries that may be pending; a new one beyond fails at once. Undefined for any number. */
  readonly backlogMax?: number | undefined
}
