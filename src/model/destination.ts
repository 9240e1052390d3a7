import { createHash } from 'node:crypto'
import type { AnalyticsEvent } from './event.ts'

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
  /** Upper bound of requests that start, such as `50/s`; undefined for no bound. */
  readonly rate?: string | undefined
}

/**
 * Formats a URL for the person who gave it: without its user name, and with `…` for its query. Both may be
 * secrets. Text that is not a URL is cut in the same way.
 */
export function endpointName(url: string): string {
  return withoutUser(url.replace(/#.*/s, '').replace(/\?.*/s, '?…'))
}

/**
 * Formats a URL for people who may not know it, such as readers of logs: scheme, host and a digest that
 * distinguishes endpoints of one host. A URL without path, query and user name is shown whole.
 */
export function hiddenEndpoint(url: string): string {
  const origin = /^((?:[^/?#]*:)?\/\/)?[^/?#]*/.exec(url)?.[0] ?? ''
  const shown = withoutUser(origin)
  const isWhole = shown === url || `${shown}/` === url
  return isWhole ? url : `${shown}/…#${digestOf(url)}`
}

function withoutUser(url: string): string {
  return url.replace(/^((?:[^/]*:)?\/\/)?[^/]*@/, '$1')
}

function digestOf(url: string): string {
  return createHash('sha256').update(url).digest('hex').slice(0, 6)
}

/** Decides by the fields of an event whether a destination takes it. */
export interface DestinationFilter {
  /** The match in the language. */
  readonly text: string
  /** Whether an event fits. */
  readonly takes: (event: AnalyticsEvent) => boolean
  /** Says what doesn't fit: `properties.revenue is 5, the filter wants >10`. */
  readonly whyNot: (event: AnalyticsEvent) => string
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
  /** Takes only the calls that fit; undefined for all. Deletions are no calls. */
  readonly filter?: DestinationFilter | undefined
  /** Upper bound of requests in flight per endpoint. */
  readonly concurrency: number
  /** Statuses from 400 to 499 that are retried beside 408, 425 and 429; undefined for none. */
  readonly retryStatuses?: readonly number[] | undefined
  /** Deliveries that may be pending; a new one beyond fails at once. Undefined for any number. */
  readonly backlogMax?: number | undefined
}
