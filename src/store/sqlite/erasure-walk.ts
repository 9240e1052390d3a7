import type { LoggedState } from '../../delivery/index.ts'
import type { EventType } from '../../model/index.ts'
import type { Database } from './database.ts'

/** What an erasure has to know of a delivery, as it stands in the file. */
export interface ErasableRow {
  readonly destination_id: string
  readonly id: number
  readonly source_id: string
  readonly message_id: string
  readonly type: EventType
  readonly user_id: string | null
  readonly previous_id: string | null
  readonly body_id: number
  readonly state: LoggedState
}

/** The ids that a walk is about: those behind one, up to another. */
export interface IdRange {
  readonly afterId: number
  readonly lastId: number
}

const columns =
  'destination_id, id, source_id, message_id, type, user_id, previous_id, body_id, state'

/** Goes through deliveries by their ids: one walk finds those of every user of a regulation. */
export class ErasureWalk {
  readonly #rows
  readonly #one
  readonly #isPending

  constructor(database: Database) {
    this.#rows = database.prepare(`
      SELECT ${columns} FROM deliveries WHERE id > ? AND id <= ? ORDER BY id LIMIT ?`)
    this.#one = database.prepare(`SELECT ${columns} FROM deliveries WHERE id = ?`)
    // The plus keeps SQLite from going through all that waits, which it may where it has statistics.
    this.#isPending = database.prepare(`
      SELECT 1 FROM deliveries WHERE id > ? AND id <= ? AND +state = 'pending' LIMIT 1`)
  }

  /** Some of the deliveries behind the one that was looked at last; none once the walk is over. */
  next(lookedId: number, { afterId, lastId }: IdRange, rowsMax: number): readonly ErasableRow[] {
    return this.#rows.all(Math.max(lookedId, afterId), lastId, rowsMax) as ErasableRow[]
  }

  /** One delivery; undefined when there is none. */
  find(id: number): ErasableRow | undefined {
    return this.#one.get(id) as ErasableRow | undefined
  }

  /** Tells whether one of the deliveries has not come to its end. */
  hasPending({ afterId, lastId }: IdRange): boolean {
    return this.#isPending.get(afterId, lastId) !== undefined
  }
}
