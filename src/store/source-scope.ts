/** Tells whether a source is another one, or a replay of it: `<source>/<anything>`. */
export function isOfSource(sourceId: string, otherId: string): boolean {
  return sourceId === otherId || sourceId.startsWith(`${otherId}/`)
}

/** Tells whether a source, or whose replay it is, is among some; null stands for all sources. */
export function isOfSources(sourceId: string, sourceIds: readonly string[] | null): boolean {
  return sourceIds?.some((otherId) => isOfSource(sourceId, otherId)) ?? true
}
