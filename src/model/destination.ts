import { createHash } from 'node:crypto'
import type { AnalyticsEvent } from './event.ts'

/** How the body of an alias names its two ids: as in the specification, in camel case, or both ways. */
export type AliasKeys = 'spec' | 'camel' | 'both'

/** The name by which calls refer to webhook destinations in `integrations`. */
export const webhooksDestinationName = 'Webhooks'

/** Paths of PEM files: a certificate with its key, authorities to trust, or both. */
export interface TlsPaths {
  /** A certificate, followed by its intermediate certificates. */
  readonly cert?: string | undefined
  readonly key?: string | undefined
  /** Certificate authorities to trust instead of the default ones. */
  readonly ca?: string | undefined
}

/** A URL of a destination, and how to send to it. */
export interface Endpoint {
  /** The full URL, http or https. */
  readonly url: string
  /** Static headers that are sent with every request. */
  readonly headers: Readonly<Record<string, string>>
  /** Maximum rate at which requests start, such as `50/s`; undefined for no maximum. */
  readonly rate?: string | undefined
  /** The client certificate and the authorities to trust; undefined for no certificate and default authorities. */
  readonly tls?: TlsPaths | undefined
}

/** Formats a URL for the person who configured it, without its user name and query, which may be secrets. */
export function endpointName(url: string): string {
  return withoutUser(url.replace(/#.*/s, '').replace(/\?.*/s, '?…'))
}

/**
 * Formats a URL for people who must not see all of it, such as readers of logs. Shows its scheme, its host and a
 * digest that distinguishes the endpoints of a host. A URL that has only a scheme and a host is shown whole.
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

/** Decides from an event's fields whether a destination gets the event. */
export interface DestinationFilter {
  /** The filter as text in the match language. */
  readonly text: string
  readonly takes: (event: AnalyticsEvent) => boolean
  /** Explains why an event doesn't pass: `properties.revenue is 5, the filter wants >10`. */
  readonly whyNot: (event: AnalyticsEvent) => string
}

/** A configured Webhooks destination, checked and frozen. */
export interface Destination {
  /** Unique among the destinations. */
  readonly id: string
  readonly sourceIds: readonly string[]
  /** If false, nothing is sent to the destination. */
  readonly enabled: boolean
  /** One to five. A delivery succeeds when one of them accepts it. */
  readonly endpoints: readonly Endpoint[]
  /** The key that signs every request. If it is empty or undefined, requests are unsigned. */
  readonly sharedSecret: string | undefined
  readonly aliasKeys: AliasKeys
  /** Whether events that are more than a day old are sent. */
  readonly acceptsHistorical: boolean
  /** Selects the calls that the destination gets; undefined for all. Deletion requests are never filtered. */
  readonly filter?: DestinationFilter | undefined
  /** Maximum number of requests in flight per endpoint. */
  readonly concurrency: number
  /** Statuses from 400 to 499 that are retried in addition to 408, 425 and 429; undefined for none. */
  readonly retryStatuses?: readonly number[] | undefined
  /** Maximum number of pending deliveries; undefined for no maximum. A delivery added beyond it fails immediately. */
  readonly backlogMax?: number | undefined
}
