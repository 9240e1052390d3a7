import type { AddRequest, NewEvent } from '../../delivery/index.ts'
import { sql } from '../sql.ts'
import { toStored } from '../stored-text.ts'
import type { Statements } from './statements.ts'

/**
 * Stores the messageIds of events for deduplication, and returns for each event whether it is new. The
 * caller begins and ends transactions.
 */
export function rememberMessages(
  statements: Statements,
  events: readonly NewEvent[],
  { nowMs, seenSinceMs }: Pick<AddRequest, 'nowMs' | 'seenSinceMs'>,
): readonly boolean[] {
  const seen = new Map<string, Set<string>>()
  for (const [sourceId, ids] of idsBySource(events)) {
    const source = toStored(sourceId)
    const rows = statements.all(sql`
      SELECT value AS id FROM json_each(${JSON.stringify([...ids])}) CROSS JOIN seen
      WHERE source_id = ${source} AND message_id = value AND seen_at >= ${seenSinceMs}`) as {
      readonly id: string
    }[]
    const known = new Set(rows.map(({ id }) => id))
    seen.set(sourceId, known)
    const others = [...ids].filter((id) => !known.has(id))
    if (others.length === 0) continue
    const json = JSON.stringify(others)
    const added = statements.run(
      sql`INSERT OR IGNORE INTO seen SELECT ${source}, value, ${nowMs} FROM json_each(${json})`,
    )
    if (added === others.length) continue
    // Ids that were not inserted already exist, with a time that is too old to count.
    statements.run(sql`
      UPDATE OR FAIL seen SET seen_at = ${nowMs}
      WHERE source_id = ${source} AND message_id IN (SELECT value FROM json_each(${json}))
        AND seen_at < ${seenSinceMs}`)
  }
  return events.map(({ sourceId, messageId }) => {
    const ids = seen.get(sourceId)
    const id = toStored(messageId)
    if (ids?.has(id) !== false) return false
    ids.add(id)
    return true
  })
}

function idsBySource(events: readonly NewEvent[]): ReadonlyMap<string, ReadonlySet<string>> {
  const bySource = new Map<string, Set<string>>()
  for (const { sourceId, messageId } of events) {
    const id = toStored(messageId)
    const ids = bySource.get(sourceId)
    if (ids === undefined) bySource.set(sourceId, new Set([id]))
    else ids.add(id)
  }
  return bySource
}
