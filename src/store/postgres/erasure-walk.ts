import type { LoggedState } from '../../delivery/index.ts'
import type { EventType } from '../../model/index.ts'
import { allDestinations, wholeStore } from './counts.ts'
import type { Session } from './database.ts'

/** What an erasure has to know of a delivery to tell whether it is about one of its users. */
export interface LookedRow {
  readonly destination_id: string
  readonly id: number
  readonly source_id: string
  readonly type: EventType
  readonly user_id: string | null
  readonly previous_id: string | null
  readonly state: LoggedState
}

/** The delivery that was looked at last; behind it a walk goes on. Ids are as they are stored. */
export interface WalkPlace {
  readonly destinationId: string
  readonly id: number
}

/** The ids that a walk is about: those behind one, up to another. */
export interface IdRange {
  readonly afterId: number
  readonly lastId: number
}

const lookSql = `
  SELECT destination_id, id, source_id, type, user_id, previous_id, state FROM evroute_deliveries
  WHERE destination_id = $1 AND id > $2 AND id <= $3 ORDER BY id LIMIT $4`

const nextDestinationSql = `
  SELECT min(destination_id) AS id FROM evroute_counts
  WHERE destination_id > $1 AND destination_id <> ${wholeStore}`

/** By their keys as well: an index of what waits has all that waits for a destination. */
const pendingSql = `
  SELECT 1 FROM (${allDestinations}) destination CROSS JOIN LATERAL (
    SELECT state FROM evroute_deliveries
    WHERE destination_id = destination.destination_id AND id > $1 AND id <= $2 OFFSET 0) delivery
  WHERE state = 'pending' LIMIT 1`

/**
 * Some of the deliveries behind a place, all of one destination; none once the walk is over. It goes by
 * their key: a regulation may be about 5,000 users, and the index of users has no ids that an alias
 * replaced.
 */
export async function lookBehind(
  session: Session,
  place: WalkPlace,
  { range, rowsMax }: { readonly range: IdRange; readonly rowsMax: number },
): Promise<readonly LookedRow[]> {
  const { afterId, lastId } = range
  let [destinationId, id]: [string | null, number] = [place.destinationId, place.id]
  while (destinationId !== null && afterId < lastId) {
    const values = [destinationId, Math.max(id, afterId), lastId, rowsMax]
    const rows = await session.rows<LookedRow>({ name: 'look_behind', sql: lookSql, values })
    if (rows.length > 0) return rows
    ;[destinationId, id] = [await destinationBehind(session, destinationId), 0]
  }
  return []
}

/** Tells whether one of the deliveries has not come to its end. */
export async function hasPending(session: Session, { afterId, lastId }: IdRange): Promise<boolean> {
  if (afterId === lastId) return false
  const rows = await session.rows({ sql: pendingSql, values: [afterId, lastId] })
  return rows.length > 0
}

async function destinationBehind(session: Session, destinationId: string): Promise<string | null> {
  const query = { name: 'destination_behind', sql: nextDestinationSql, values: [destinationId] }
  const [row] = await session.rows<{ readonly id: string | null }>(query)
  return row?.id ?? null
}
