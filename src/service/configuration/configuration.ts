import { resolve } from 'node:path'
import type { RetentionPolicy } from '../../delivery/index.ts'
import { EventFilter } from '../../match/index.ts'
import { parseDuration, type Destination } from '../../model/index.ts'
import type { Breather } from '../../runtime/index.ts'
import type { SourceType } from '../../tracking-api/index.ts'
import { checkDestination } from '../../webhook/index.ts'
import type { ConfigurationDocument, DestinationDocument, SourceDocument } from './document.ts'

type SameSettings = 'listen' | 'store' | 'tracing' | 'senderThreads' | 'network'

/** A checked configuration, frozen, with defaults and secrets filled in. Its paths are absolute. */
export interface Configuration extends Pick<ConfigurationDocument, SameSettings> {
  /** The admin API; undefined if it is off. */
  readonly admin: NonNullable<ConfigurationDocument['admin']> | undefined
  readonly retention: RetentionPolicy
  readonly sources: readonly ConfiguredSource[]
  readonly destinations: readonly ConfiguredDestination[]
}

/** A source. `eventsPerSecond` is its own limit, or else the default in `limits`. */
export interface ConfiguredSource extends Pick<SourceDocument, 'id' | 'writeKeys' | 'enabled'> {
  /** The kind of its clients; undefined to recognise browsers by their requests. */
  readonly type?: SourceType | undefined
  readonly eventsPerSecond: number | undefined
  readonly archive: { readonly directory: string } | undefined
}

/** A destination. `backlogMax` is its own limit, or else the default in `limits`. */
export interface ConfiguredDestination extends Destination {
  /** The secrets for Standard Webhooks signatures, one signature each; undefined for none. */
  readonly standardWebhooks: { readonly secrets: readonly string[] } | undefined
  readonly retryForMs: number
}

/** Makes the paths in a document absolute. They are relative to the folder of the file. */
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

/** Converts a valid document into a configuration. */
export async function configurationOf(
  document: ConfigurationDocument,
  breather: Breather,
): Promise<Configuration> {
  const configured: ConfiguredDestination[] = []
  for (const destination of document.destinations) {
    await breather.breathe()
    configured.push(deepFreeze(destinationOf(destination, document.limits.backlogMax)))
  }
  const { listen, admin, store, tracing, senderThreads, network } = document
  const { retention, limits, sources } = document
  return deepFreeze({
    ...{ listen, store, tracing, senderThreads, network },
    admin: admin ?? undefined,
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
  if (durationMs === undefined) throw new Error(`"${text}" is not a duration`)
  return durationMs
}

function deepFreeze<Value>(value: Value): Value {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    for (const inner of Object.values(value)) deepFreeze(inner)
    Object.freeze(value)
  }
  return value
}
