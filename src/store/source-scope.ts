/** Tells whether a source equals another one or is a replay of it: `<source>/<anything>`. */
export function isOfSource(sourceId: string, otherId: string): boolean {
  return sourceId === otherId || sourceId.startsWith(`${otherId}/`)
}

/** Tells whether a source, or the source of a replay, is in a list; null stands for all sources. */
export function isOfSources(sourceId: string, sourceIds: readonly string[] | null): boolean {
  return sourceIds?.some((otherId) => isOfSource(sourceId, otherId)) ?? true
}
