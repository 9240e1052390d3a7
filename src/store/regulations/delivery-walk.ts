import { firstRow, givenRows, rowsOf, type Dialect, type Script, type SqlValue } from '../sql.ts'
import { toStored } from '../stored-text.ts'
import {
  erasableColumns,
  givenPlaces,
  placeColumns,
  type DeliveryPlace,
  type ErasableRow,
  type ErasureEngine,
  type HeldRow,
  type IdRange,
} from './regulation-engine.ts'

/**
 * Returns the next deliveries after a place, all of one destination; none at the end of the walk. The walk
 * goes by destination and id, because a regulation may name 5,000 users, and the indexes of users lack ids
 * that an alias replaced.
 */
export function* deliveriesAfter(
  place: DeliveryPlace,
  { range, rowsMax }: { readonly range: IdRange; readonly rowsMax: number },
): Script<readonly ErasableRow[]> {
  const { afterId, lastId } = range
  const sql = `SELECT ${erasableColumns} FROM evroute_deliveries
    WHERE destination_id = $1 AND id > $2 AND id <= $3 ORDER BY id LIMIT $4`
  let [destinationId, id]: [string | null, number] = [place.destination_id, place.id]
  while (destinationId !== null && afterId < lastId) {
    const values = [destinationId, Math.max(id, afterId), lastId, rowsMax]
    const rows = yield* rowsOf<ErasableRow>({ name: 'look_behind', sql, values })
    if (rows.length > 0) return rows
    ;[destinationId, id] = [yield* destinationAfter(destinationId), 0]
  }
  return []
}

function* destinationAfter(destinationId: string): Script<string | null> {
  const sql = `SELECT min(destination_id) AS id FROM evroute_counts
    WHERE destination_id > $1 AND destination_id <> ''`
  const query = { name: 'destination_behind', sql, values: [destinationId] }
  const row = yield* firstRow<{ readonly id: string | null }>(query)
  return row?.id ?? null
}

/** Tells whether any delivery in a range of ids, to one of the given destinations, is pending. */
export function* hasPending(
  { afterId, lastId }: IdRange,
  destinationIds: readonly string[],
  { deliveriesOfEach, given }: Dialect,
): Script<boolean> {
  if (afterId === lastId) return false
  const inRange = `delivery.destination_id = given.destination_id
    AND delivery.id > $2 AND delivery.id <= $3`
  // Compare an expression, because the index of pending deliveries is not ordered by id.
  const sql = `SELECT 1 FROM ${given('$1', { destination_id: 'text' })}
    ${deliveriesOfEach('state', inRange)} WHERE delivery.state || '' = 'pending' LIMIT 1`
  const destinations = destinationIds.map((id) => ({ destination_id: toStored(id) }))
  const rows = yield* rowsOf({ sql, values: [givenRows(destinations), afterId, lastId] })
  return rows.length > 0
}

/** Locks deliveries, and returns those that exist. */
export function hold(
  { database, isLeased }: ErasureEngine,
  places: readonly DeliveryPlace[],
  nowMs: number,
): Script<readonly HeldRow[]> {
  const { forUpdate, given } = database.dialect
  const columns = erasableColumns.split(', ').map((column) => `delivery.${column}`)
  const values: SqlValue[] = [givenPlaces(places)]
  const leased = isLeased((value) => `$${values.push(value)}`, nowMs)
  const sql = `SELECT ${columns.join(', ')}, state = 'pending' AND ${leased} AS "isLeased"
    FROM ${given('$1', placeColumns)} JOIN evroute_deliveries delivery
      ON delivery.destination_id = given.destination_id AND delivery.id = given.id
    ORDER BY delivery.destination_id, delivery.id ${forUpdate}`
  return rowsOf<HeldRow>({ name: 'hold_deliveries', sql, values })
}
