import type { AddRequest, NewEvent } from '../../delivery/index.ts'
import { sql } from '../sql.ts'
import { toStored } from '../stored-text.ts'
import type { Statements } from './statements.ts'

/** Stores the events' messageIds for deduplication. Returns which events are new. Call it in a transaction. */
export function rememberMessages(
  statements: Statements,
  events: readonly NewEvent[],
  { nowMs, seenSinceMs }: Pick<AddRequest, 'nowMs' | 'seenSinceMs'>,
): readonly boolean[] {
  const areNew = events.map(() => false)
  for (const [sourceId, indexes] of firstIndexes(events)) {
    const source = toStored(sourceId)
    const known = statements.all(sql`
      SELECT value AS id FROM json_each(${JSON.stringify([...indexes.keys()])}) CROSS JOIN seen
      WHERE source_id = ${source} AND message_id = value AND seen_at >= ${seenSinceMs}`)
    for (const { id } of known as { readonly id: string }[]) indexes.delete(id)
    if (indexes.size === 0) continue
    const ids = JSON.stringify([...indexes.keys()])
    const added = statements.run(
      sql`INSERT OR IGNORE INTO seen SELECT ${source}, value, ${nowMs} FROM json_each(${ids})`,
    )
    // Ids that were not inserted have a row that is too old to make an event a duplicate. Renew that row.
    if (added < indexes.size) {
      statements.run(sql`
        UPDATE OR FAIL seen SET seen_at = ${nowMs}
        WHERE source_id = ${source} AND message_id IN (SELECT value FROM json_each(${ids}))
          AND seen_at < ${seenSinceMs}`)
    }
    for (const index of indexes.values()) areNew[index] = true
  }
  return areNew
}

/** Returns the index of the first event with each messageId, by source. */
function firstIndexes(events: readonly NewEvent[]): Map<string, Map<string, number>> {
  const bySource = new Map<string, Map<string, number>>()
  for (const [index, { sourceId, messageId }] of events.entries()) {
    const indexes = bySource.get(sourceId) ?? new Map<string, number>()
    bySource.set(sourceId, indexes)
    const id = toStored(messageId)
    if (!indexes.has(id)) indexes.set(id, index)
  }
  return bySource
}
