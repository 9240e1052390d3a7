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

/** The delivery that was looked at last; behind it a walk goes on. */
export interface WalkPlace {
  readonly destinationId: string
  readonly id: number
}

/** The ids that a walk is about: those behind one, up to another. */
export interface IdRange {
  readonly afterId: number
  readonly lastId: number
}

const columns =
  'destination_id, id, source_id, message_id, type, user_id, previous_id, body_id, state'

/** Goes through deliveries by their key, which no index of users could do without costing every call. */
export class ErasureWalk {
  readonly #rows
  readonly #one
  readonly #nextDestination
  readonly #isPending

  constructor(database: Database) {
    this.#rows = database.prepare(`
      SELECT ${columns} FROM deliveries
      WHERE destination_id = ? AND id > ? AND id <= ? ORDER BY id LIMIT ?`)
    this.#one = database.prepare(
      `SELECT ${columns} FROM deliveries WHERE destination_id = ? AND id = ?`,
    )
    this.#nextDestination = database.prepare(
      'SELECT min(destination_id) AS id FROM deliveries WHERE destination_id > ?',
    )
    this.#isPending = database.prepare(`
      SELECT 1 FROM deliveries WHERE destination_id = ? AND id > ? AND id <= ? AND state = 'pending'
      LIMIT 1`)
  }

  /** Some of the deliveries behind a place, all of one destination; none once the walk is over. */
  next(place: WalkPlace, range: IdRange, rowsMax: number): readonly ErasableRow[] {
    const { afterId, lastId } = range
    let [destinationId, id]: [string | null, number] = [place.destinationId, place.id]
    while (destinationId !== null) {
      const from = Math.max(id, afterId)
      const rows = this.#rows.all(destinationId, from, lastId, rowsMax) as ErasableRow[]
      if (rows.length > 0) return rows
      ;[destinationId, id] = [this.#destinationBehind(destinationId), 0]
    }
    return []
  }

  /** One delivery; undefined when there is none. */
  find({ destinationId, id }: WalkPlace): ErasableRow | undefined {
    return this.#one.get(destinationId, id) as ErasableRow | undefined
  }

  /** Tells whether one of the deliveries has not come to its end. */
  hasPending({ afterId, lastId }: IdRange): boolean {
    if (afterId === lastId) return false
    let destinationId: string | null = ''
    while (destinationId !== null) {
      if (this.#isPending.get(destinationId, afterId, lastId) !== undefined) return true
      destinationId = this.#destinationBehind(destinationId)
    }
    return false
  }

  #destinationBehind(destinationId: string): string | null {
    const row = this.#nextDestination.get(destinationId) as { readonly id: string | null }
    return row.id
  }
}
