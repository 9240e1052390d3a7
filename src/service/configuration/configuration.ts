import { resolve } from 'node:path'
import type { RetentionPolicy } from '../../delivery/index.ts'
import { EventFilter } from '../../match/index.ts'
import { parseDuration, type Destination } from '../../model/index.ts'
import type { Breather } from '../../runtime/index.ts'
import type { SourceType } from '../../tracking-api/index.ts'
import { checkDestination } from '../../webhook/index.ts'
import type { ConfigurationDocument, DestinationDocument, SourceDocument } from './document.ts'

/** What a service is set up with: checked, complete and frozen, its secrets read. */
export interface Configuration {
  readonly listen: ConfigurationDocument['listen']
  /** The admin API; undefined for none. */
  readonly admin: NonNullable<ConfigurationDocument['admin']> | undefined
  /** `memory:`, `sqlite:` and an absolute path, or the URL of a PostgreSQL with its password. */
  readonly store: string
  readonly network: ConfigurationDocument['network']
  /** How long the store remembers. */
  readonly retention: RetentionPolicy
  /** At least one; their ids are unique, and so are their write keys. */
  readonly sources: readonly ConfiguredSource[]
  /** Their ids are unique. */
  readonly destinations: readonly ConfiguredDestination[]
}

/** A source of calls. */
export interface ConfiguredSource extends Pick<SourceDocument, 'id' | 'writeKeys' | 'enabled'> {
  /** What its clients are; undefined where each request tells it. */
  readonly type?: SourceType | undefined
  /** Events that it may send per second; undefined for any number. */
  readonly eventsPerSecond: number | undefined
  /** Where its events are kept; undefined for nowhere. */
  readonly archive: { readonly directory: string } | undefined
}

/** A destination of events. */
export interface ConfiguredDestination extends Destination {
  /** Adds the signatures of Standard Webhooks, one for each secret; undefined for none. */
  readonly standardWebhooks: { readonly secrets: readonly string[] } | undefined
  /** The retry window of a delivery, which begins with its first attempt. */
  readonly retryForMs: number
}

/** Makes the paths of a document absolute. Relative paths start at its folder. */
export function locate(document: ConfigurationDocument, folder: string): ConfigurationDocument {
  const { store, sources, listen, admin, destinations } = document
  const file = /^sqlite:(.+)$/.exec(store)?.[1]
  return {
    ...document,
    listen: withPaths(listen, folder),
    admin: admin && withPaths(admin, folder),
    store: file === undefined ? store : `sqlite:${resolve(folder, file)}`,
    sources: sources.map((source) => ({
      ...source,
      archive: source.archive && { directory: resolve(folder, source.archive.directory) },
    })),
    destinations: destinations.map((destination) => ({
      ...destination,
      endpoints: destination.endpoints.map((endpoint) => withPaths(endpoint, folder)),
    })),
  }
}

function withPaths<Section extends { readonly tls?: object | undefined }>(
  section: Section,
  folder: string,
): Section {
  if (section.tls === undefined) return section
  const paths = Object.entries(section.tls as Readonly<Record<string, string>>)
  const tls = Object.fromEntries(paths.map(([name, path]) => [name, resolve(folder, path)]))
  return { ...section, tls }
}

/** The configuration that a document without problems stands for. */
export async function configurationOf(
  document: ConfigurationDocument,
  breather: Breather,
): Promise<Configuration> {
  const configured: ConfiguredDestination[] = []
  for (const destination of document.destinations) {
    await breather.breathe()
    configured.push(deepFreeze(destinationOf(destination, document.limits.backlogMax)))
  }
  const { listen, admin, store, network, retention, limits, sources } = document
  return deepFreeze({
    listen,
    admin: admin ?? undefined,
    store,
    network,
    retention: {
      deliveredMs: durationMsOf(retention.delivered),
      failedMs: durationMsOf(retention.failed),
      untriedMs: durationMsOf(retention.untried),
      messageIdsMs: durationMsOf(retention.messageIds),
    },
    sources: sources.map((source) => sourceOf(source, limits.eventsPerSecond)),
    destinations: configured,
  })
}

function sourceOf(document: SourceDocument, eventsPerSecond: number | null): ConfiguredSource {
  const { id, writeKeys, type, enabled, archive } = document
  return {
    id,
    writeKeys,
    type: type ?? undefined,
    enabled,
    eventsPerSecond: document.eventsPerSecond ?? eventsPerSecond ?? undefined,
    archive: archive ?? undefined,
  }
}

function destinationOf(document: DestinationDocument, backlogMax: number): ConfiguredDestination {
  const { sources, filter, sharedSecret, standardWebhooks, retryFor, retryStatuses, ...same } =
    document
  return {
    ...checkDestination({
      ...same,
      sourceIds: sources,
      filter: filter === null ? undefined : new EventFilter(filter),
      sharedSecret: sharedSecret ?? undefined,
      retryStatuses: retryStatuses.length === 0 ? undefined : retryStatuses,
      backlogMax: same.backlogMax ?? backlogMax,
    }),
    standardWebhooks: signingOf(standardWebhooks, sharedSecret),
    retryForMs: durationMsOf(retryFor),
  }
}

function signingOf(
  setting: DestinationDocument['standardWebhooks'],
  sharedSecret: string | null,
): ConfiguredDestination['standardWebhooks'] {
  if (typeof setting === 'object') return setting
  return setting && sharedSecret !== null ? { secrets: [sharedSecret] } : undefined
}

function durationMsOf(text: string): number {
  const durationMs = parseDuration(text)
  if (durationMs === undefined) throw new Error(`"${text}" passed as a duration and is none`)
  return durationMs
}

function deepFreeze<Value>(value: Value): Value {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    for (const inner of Object.values(value)) deepFreeze(inner)
    Object.freeze(value)
  }
  return value
}
