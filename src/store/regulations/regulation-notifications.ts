import type { LoggedState, NewEvent } from '../../delivery/index.ts'
import type { NotificationStream } from '../../privacy/index.ts'
import { raw, rowsOf, sql, type Dialect, type Script, type Sql } from '../sql.ts'
import { fromStored, toStored } from '../stored-text.ts'
import type { DeliveryRowKey } from './regulation-engine.ts'

/** The columns of a regulation that describe its notifications. */
export interface NotificationColumns {
  /** {@link NotificationStream}s as JSON. They count every notification as pending until the regulation finishes. */
  readonly streams: string
  readonly last_notification_id: number
}

/** The number of notifications in a state. Texts are in their stored form. */
interface CountedRow {
  readonly destination_id: string
  readonly source_id: string
  readonly state: LoggedState
  readonly count: number
}

/** The ids after `afterId`, up to and including `lastId`. */
interface IdRange {
  readonly afterId: number
  readonly lastId: number
}

interface Unerased {
  readonly keys: readonly DeliveryRowKey[]
  /** The number of ids that were checked. */
  readonly checked: number
  /** The next `afterId`, once `keys` are erased; null at the end. */
  readonly next: number | null
}

/** Counts new notifications by source and destination. */
export function newStreams(notifications: readonly NewEvent[]): readonly NotificationStream[] {
  const streams = new Map<string, NotificationStream>()
  for (const { sourceId, deliveries } of notifications) {
    for (const { destinationId } of deliveries) {
      const key = JSON.stringify([sourceId, destinationId])
      const pending = (streams.get(key)?.pending ?? 0) + 1
      const others = { delivered: 0, failed: 0, expired: 0 }
      streams.set(key, { sourceId, destinationId, pending, ...others })
    }
  }
  return [...streams.values()]
}

/** Parses the stored counts of a regulation's notifications. */
export function streamsOf(json: string): readonly NotificationStream[] {
  return JSON.parse(json) as readonly NotificationStream[]
}

/** The condition of a delivered notification that is not yet erased. */
const isUnerased = raw("delivery.state = 'delivered' AND delivery.user_id IS NOT NULL")

/**
 * The condition under which a failed or expired delivery may be purged. A notification may not be purged while its
 * regulation is unfinished, because it still has to be counted.
 */
export const isPurgeable = raw(
  "(type <> 'delete' OR NOT EXISTS (SELECT 1 FROM evroute_regulations WHERE finished_at IS NULL))",
)

/** The notifications of an unfinished regulation. They have consecutive ids. */
export class RegulationNotifications {
  readonly #streams: readonly NotificationStream[]
  readonly #dialect: Dialect
  readonly #ids: IdRange

  constructor(row: NotificationColumns, dialect: Dialect) {
    this.#streams = streamsOf(row.streams)
    this.#dialect = dialect
    const lastId = row.last_notification_id
    const made = this.#streams.reduce((sum, { pending }) => sum + pending, 0)
    this.#ids = { afterId: lastId - made, lastId }
  }

  /** Finds delivered, unerased notifications among the next `idsMax` ids after `afterId`. */
  *unerased(
    afterId: number,
    { idsMax, rowsMax }: { readonly idsMax: number; readonly rowsMax: number },
  ): Script<Unerased> {
    const from = Math.max(afterId, this.#ids.afterId)
    const to = Math.min(from + idsMax, this.#ids.lastId)
    const keys = yield* rowsOf<DeliveryRowKey>(sql`
      SELECT given.destination_id, delivery.id
      FROM ${this.#from('id, state, user_id', { afterId: from, lastId: to })}
      WHERE ${isUnerased} LIMIT ${rowsMax}`)
    if (keys.length === rowsMax) return { keys, checked: rowsMax, next: from }
    return { keys, checked: to - from, next: to < this.#ids.lastId ? to : null }
  }

  /** Tells whether any notification is pending, or delivered and not yet erased. */
  *isAnyLeft(): Script<boolean> {
    // `|| ''` keeps the planner from using the index of pending deliveries, which is not ordered by id.
    const rows = yield* rowsOf(sql`SELECT 1 FROM ${this.#from('state, user_id')}
      WHERE delivery.state || '' = 'pending' OR (${isUnerased}) LIMIT 1`)
    return rows.length > 0
  }

  /** Counts the notifications by source, destination and state. */
  *streams(): Script<readonly NotificationStream[]> {
    const found = yield* rowsOf<CountedRow>(sql`
      SELECT given.destination_id, source_id, state, count(*) AS count
      FROM ${this.#from('source_id, state')} GROUP BY given.destination_id, source_id, state`)
    const keyOf = (...parts: readonly string[]): string => JSON.stringify(parts)
    const counts = new Map(
      found.map(({ source_id: sourceId, destination_id: destinationId, state, count }) => [
        keyOf(fromStored(sourceId), fromStored(destinationId), state),
        count,
      ]),
    )
    return this.#streams.map(({ sourceId, destinationId, pending: all }) => {
      const of = (state: LoggedState): number =>
        counts.get(keyOf(sourceId, destinationId, state)) ?? 0
      const [pending, failed, expired] = [of('pending'), of('failed'), of('expired')]
      // Count purged notifications as delivered: failed and expired ones are kept until the regulation finishes.
      const delivered = all - pending - failed - expired
      return { sourceId, destinationId, pending, delivered, failed, expired }
    })
  }

  /** Returns the text after FROM that reads the notifications in a range, as `delivery`; by default all. */
  #from(columns: string, { afterId, lastId }: IdRange = this.#ids): Sql {
    const { deliveriesOfEach, given } = this.#dialect
    const ids = new Set(this.#streams.map(({ destinationId }) => toStored(destinationId)))
    const destinations = Array.from(ids, (id) => ({ destination_id: id }))
    const isNotification = sql`delivery.destination_id = given.destination_id
      AND delivery.id > ${afterId} AND delivery.id <= ${lastId}`
    return sql`${given(destinations, { destination_id: 'text' })}
      ${deliveriesOfEach(columns, isNotification)}`
  }
}
