import type { LoggedState, NewEvent } from '../../delivery/index.ts'
import type { NotificationStream } from '../../privacy/index.ts'
import { rowsOf, sql, type Dialect, type Script, type Sql } from '../sql.ts'
import { fromStored, toStored } from '../stored-text.ts'
import type { IdRange } from './regulation-engine.ts'

/** The columns of a regulation that describe its notifications. */
export interface NotificationColumns {
  /** The streams as JSON. Until the regulation is finished, they count all of its notifications as pending. */
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

/** Reads the stored streams of a regulation. */
export function streamsOf({
  streams,
}: Pick<NotificationColumns, 'streams'>): readonly NotificationStream[] {
  return JSON.parse(streams) as readonly NotificationStream[]
}

/** Returns the ids of the notifications of an unfinished regulation. No other deliveries have ids in between. */
export function notificationIds(row: NotificationColumns): IdRange {
  const { last_notification_id: lastId } = row
  const made = streamsOf(row).reduce((sum, { pending }) => sum + pending, 0)
  return { afterId: lastId - made, lastId }
}

/** Tells whether any notification of an unfinished regulation is pending. */
export function* isAnyPending(row: NotificationColumns, dialect: Dialect): Script<boolean> {
  // Compare an expression, because the index of pending deliveries is not ordered by id.
  const rows = yield* rowsOf(sql`SELECT 1 FROM ${notificationsOf(row, 'state', dialect)}
    WHERE delivery.state || '' = 'pending' LIMIT 1`)
  return rows.length > 0
}

/** Counts the notifications of an unfinished regulation by source, destination and state. */
export function* currentStreams(
  row: NotificationColumns,
  dialect: Dialect,
): Script<readonly NotificationStream[]> {
  const found = yield* rowsOf<CountedRow>(sql`
    SELECT given.destination_id, source_id, state, count(*) AS count
    FROM ${notificationsOf(row, 'source_id, state', dialect)}
    GROUP BY given.destination_id, source_id, state`)
  const keyOf = (...parts: readonly string[]): string => JSON.stringify(parts)
  const counts = new Map(
    found.map(({ source_id: sourceId, destination_id: destinationId, state, count }) => [
      keyOf(fromStored(sourceId), fromStored(destinationId), state),
      count,
    ]),
  )
  return streamsOf(row).map(({ sourceId, destinationId, pending: all }) => {
    const of = (state: LoggedState): number =>
      counts.get(keyOf(sourceId, destinationId, state)) ?? 0
    const [pending, failed, expired] = [of('pending'), of('failed'), of('expired')]
    // Missing notifications were purged. Only delivered ones are purged that early.
    const delivered = all - pending - failed - expired
    return { sourceId, destinationId, pending, delivered, failed, expired }
  })
}

/** Returns the end of a FROM clause: the notifications of a regulation, as `delivery`. */
function notificationsOf(
  row: NotificationColumns,
  columns: string,
  { deliveriesOfEach, given }: Dialect,
): Sql {
  const { afterId, lastId } = notificationIds(row)
  const ids = new Set(streamsOf(row).map(({ destinationId }) => toStored(destinationId)))
  const destinations = Array.from(ids, (id) => ({ destination_id: id }))
  const isNotification = sql`delivery.destination_id = given.destination_id
    AND delivery.id > ${afterId} AND delivery.id <= ${lastId}`
  return sql`${given(destinations, { destination_id: 'text' })}
    ${deliveriesOfEach(columns, isNotification)}`
}
