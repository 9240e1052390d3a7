import type { AddRequest, NewEvent } from '../../delivery/index.ts'
import { toStored } from '../stored-text.ts'
import type { Database } from './database.ts'

type SeenMoments = Pick<AddRequest, 'nowMs' | 'seenSinceMs'>

/** The messageIds for deduplication. The caller begins and ends transactions. */
export class SeenMessages {
  readonly #known
  readonly #add
  readonly #renew

  constructor(database: Database) {
    this.#known = database.prepare(`
      SELECT value AS id FROM json_each(?) CROSS JOIN seen
      WHERE source_id = ? AND message_id = value AND seen_at >= ?`)
    this.#add = database.prepare('INSERT OR IGNORE INTO seen SELECT ?, value, ? FROM json_each(?)')
    this.#renew = database.prepare(`
      UPDATE OR FAIL seen SET seen_at = ?
      WHERE source_id = ? AND message_id IN (SELECT value FROM json_each(?)) AND seen_at < ?`)
  }

  /** Stores the messageIds of events, and returns for each event whether it is new. */
  remember(events: readonly NewEvent[], moments: SeenMoments): readonly boolean[] {
    const seen = new Map<string, Set<string>>()
    for (const [sourceId, ids] of idsBySource(events)) {
      seen.set(sourceId, this.#remember(sourceId, ids, moments))
    }
    return events.map(({ sourceId, messageId }) => {
      const ids = seen.get(sourceId)
      const id = toStored(messageId)
      if (ids?.has(id) !== false) return false
      ids.add(id)
      return true
    })
  }

  /** Stores ids, and returns those that were known. */
  #remember(sourceId: string, ids: ReadonlySet<string>, moments: SeenMoments): Set<string> {
    const { nowMs, seenSinceMs } = moments
    const source = toStored(sourceId)
    const rows = this.#known.all(JSON.stringify([...ids]), source, seenSinceMs)
    const known = new Set((rows as readonly { readonly id: string }[]).map(({ id }) => id))
    const others = [...ids].filter((id) => !known.has(id))
    if (others.length === 0) return known
    const json = JSON.stringify(others)
    const { changes } = this.#add.run(source, nowMs, json)
    // Ids that were not inserted already exist, with a time that is too old to count.
    if (Number(changes) < others.length) this.#renew.run(nowMs, source, json, seenSinceMs)
    return known
  }
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
