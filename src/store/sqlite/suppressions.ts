import type { NewEvent } from '../../delivery/index.ts'
import { everySource, isOfSource } from '../suppressions.ts'
import type { Database } from './database.ts'
import { fromStored, toStored } from '../stored-text.ts'

/** Tells which events are dropped because their user is suppressed. */
export class Suppressions {
  readonly #any
  readonly #ofUser

  constructor(database: Database) {
    this.#any = database.prepare('SELECT 1 FROM suppressions LIMIT 1')
    this.#ofUser = database.prepare('SELECT source_id FROM suppressions WHERE user_id = ?')
  }

  /** Tells for each event whether it is dropped, in the current transaction. */
  drops(events: readonly NewEvent[]): readonly boolean[] {
    // Asking for every event would take time even if no user is suppressed.
    if (this.#any.get() === undefined) return events.map(() => false)
    return events.map((event) => this.#isDropped(event))
  }

  #isDropped({ sourceId, type, userId, previousId }: NewEvent): boolean {
    if (type === 'delete') return false
    return [userId, previousId].some((id) => typeof id === 'string' && this.#has(sourceId, id))
  }

  #has(sourceId: string, userId: string): boolean {
    const rows = this.#ofUser.all(toStored(userId)) as readonly { readonly source_id: string }[]
    return rows.some(
      ({ source_id: id }) => id === everySource || isOfSource(sourceId, fromStored(id)),
    )
  }
}
