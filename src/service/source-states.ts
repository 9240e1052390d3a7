import type { SourcesState } from '../admin-api/index.ts'
import type { Configuration } from './configuration/index.ts'
import type { ServiceAddress } from './service-options.ts'

/** Returns the configured sources with their destinations, and the URL to which they send. */
export function sourcesState(
  { listen, sources, destinations }: Configuration,
  { url }: Pick<ServiceAddress, 'url'>,
): SourcesState {
  const states = sources.map(({ id, enabled, writeKeys, archive }) => ({
    id,
    enabled,
    writeKeys,
    destinationIds: destinations
      .filter(({ sourceIds }) => sourceIds.includes(id))
      .map((each) => each.id),
    isArchived: archive !== undefined,
  }))
  return { url: listen.publicUrl ?? url, sources: states }
}
