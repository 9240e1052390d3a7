import {
  erasableColumns,
  type DeliveryPlace,
  type ErasableRow,
  type IdRange,
} from '../regulations/index.ts'
import { firstRow, rowsOf, type Script } from '../sql/index.ts'
import { allDestinations, wholeStore } from './counts.ts'

const lookSql = `
  SELECT ${erasableColumns} FROM evroute_deliveries
  WHERE destination_id = $1 AND id > $2 AND id <= $3 ORDER BY id LIMIT $4`

const nextDestinationSql = `
  SELECT min(destination_id) AS id FROM evroute_counts
  WHERE destination_id > $1 AND destination_id <> ${wholeStore}`

/** Also by key, because the index of pending deliveries has all pending ones of a destination. */
const pendingSql = `
  SELECT 1 FROM (${allDestinations}) destination CROSS JOIN LATERAL (
    SELECT state FROM evroute_deliveries
    WHERE destination_id = destination.destination_id AND id > $1 AND id <= $2 OFFSET 0) delivery
  WHERE state = 'pending' LIMIT 1`

/**
 * The next deliveries after a place, all of one destination; none at the end of the walk. The walk
 * follows the primary key, because a regulation may name 5,000 users and the index of users has no ids
 * that an alias replaced.
 */
export function* lookBehind(
  place: DeliveryPlace,
  { range, rowsMax }: { readonly range: IdRange; readonly rowsMax: number },
): Script<readonly ErasableRow[]> {
  const { afterId, lastId } = range
  let [destinationId, id]: [string | null, number] = [place.destinationId, place.id]
  while (destinationId !== null && afterId < lastId) {
    const values = [destinationId, Math.max(id, afterId), lastId, rowsMax]
    const rows = yield* rowsOf<ErasableRow>({ name: 'look_behind', sql: lookSql, values })
    if (rows.length > 0) return rows
    ;[destinationId, id] = [yield* destinationBehind(destinationId), 0]
  }
  return []
}

/** Tells whether one of the deliveries is still pending. */
export function* hasPending({ afterId, lastId }: IdRange): Script<boolean> {
  if (afterId === lastId) return false
  const rows = yield* rowsOf({ sql: pendingSql, values: [afterId, lastId] })
  return rows.length > 0
}

function* destinationBehind(destinationId: string): Script<string | null> {
  const query = { name: 'destination_behind', sql: nextDestinationSql, values: [destinationId] }
  const row = yield* firstRow<{ readonly id: string | null }>(query)
  return row?.id ?? null
}
