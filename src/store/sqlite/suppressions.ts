import type { NewEvent } from '../../delivery/index.ts'
import { isOfSource } from '../source-scope.ts'
import type { Database } from './database.ts'
import { fromStored, toStored } from './stored-text.ts'

/** Stands in the place of a source where the calls of a user are dropped from all. */
const everySource = ''

/**
 * Whose calls are dropped, kept in the file. Whoever changes it begins and ends transactions, and says
 * so afterwards with {@link Suppressions.recount}.
 */
export class Suppressions {
  readonly #ofUser
  readonly #add
  readonly #liftAll
  readonly #lift
  readonly #any
  /** Asking the file about every event would cost something where nobody is suppressed. */
  #isAnybody = false

  constructor(database: Database) {
    this.#ofUser = database.prepare('SELECT source_id FROM suppressions WHERE user_id = ?')
    this.#add = database.prepare('INSERT INTO suppressions VALUES (?, ?) ON CONFLICT DO NOTHING')
    this.#liftAll = database.prepare('DELETE FROM suppressions WHERE user_id = ?')
    this.#lift = database.prepare('DELETE FROM suppressions WHERE user_id = ? AND source_id = ?')
    this.#any = database.prepare('SELECT 1 FROM suppressions LIMIT 1')
    this.recount()
  }

  /** Tells whether the calls of a user are dropped that come from a source, or from a replay of it. */
  has(sourceId: string, userId: string): boolean {
    if (!this.#isAnybody) return false
    const rows = this.#ofUser.all(toStored(userId)) as readonly { readonly source_id: string }[]
    return rows.some(
      ({ source_id: id }) => id === everySource || isOfSource(sourceId, fromStored(id)),
    )
  }

  /** Drops the calls of users from some sources; null stands for all. */
  add(userIds: readonly string[], sourceIds: readonly string[] | null): void {
    // Before the commit: what is added in the same transaction is dropped as well.
    this.#isAnybody = true
    const stored = sourceIds?.map(toStored) ?? [everySource]
    for (const userId of userIds) {
      for (const sourceId of stored) this.#add.run(toStored(userId), sourceId)
    }
  }

  /** Tells whether an event is dropped because of the users that it is about. */
  drops({ sourceId, type, userId, previousId }: NewEvent): boolean {
    if (type === 'delete') return false
    return [userId, previousId].some((id) => typeof id === 'string' && this.has(sourceId, id))
  }

  /** Accepts the calls of users again that were dropped from some sources; null lifts everything. */
  lift(userIds: readonly string[], sourceIds: readonly string[] | null): void {
    for (const userId of userIds.map(toStored)) {
      if (sourceIds === null) this.#liftAll.run(userId)
      else for (const sourceId of sourceIds) this.#lift.run(userId, toStored(sourceId))
    }
  }

  /** Looks whether anybody is left, once the transaction is over. */
  recount(): void {
    this.#isAnybody = this.#any.get() !== undefined
  }
}
