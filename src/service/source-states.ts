import type { SourceState } from '../admin-api/index.ts'
import type { Configuration } from './configuration/index.ts'

/** The configured sources, and which destinations take their events. */
export function sourceStates({
  sources,
  destinations,
}: Pick<Configuration, 'sources' | 'destinations'>): readonly SourceState[] {
  return sources.map(({ id, enabled, writeKeys, archive }) => ({
    id,
    enabled,
    writeKeys,
    destinationIds: destinations
      .filter(({ sourceIds }) => sourceIds.includes(id))
      .map((each) => each.id),
    isArchived: archive !== undefined,
  }))
}
