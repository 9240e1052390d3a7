import type { LoggedState } from '../../delivery/index.ts'
import type { EventType } from '../../model/index.ts'
import { erasedReason } from '../erased-reason.ts'
import { isFree, type OwnLeases } from './claim-statement.ts'
import { countChanges } from './counts.ts'
import type { Session } from './database.ts'
import type { WalkPlace } from './erasure-walk.ts'

/** A delivery that nobody but its eraser can change until the end of the transaction. */
export interface HeldRow {
  readonly destination_id: string
  readonly id: number
  readonly source_id: string
  readonly message_id: string
  readonly type: EventType
  readonly user_id: string | null
  readonly previous_id: string | null
  readonly state: LoggedState
  readonly is_given_out: boolean
}

const holdSql = `
  SELECT delivery.destination_id, delivery.id, source_id, message_id, type, user_id, previous_id, state,
    state = 'pending' AND NOT ${isFree(['$3', '$4', '$5'])} AS is_given_out
  FROM unnest($1::text[], $2::bigint[]) AS wanted (destination_id, id)
  JOIN evroute_deliveries delivery
    ON delivery.destination_id = wanted.destination_id AND delivery.id = wanted.id
  ORDER BY delivery.destination_id, delivery.id
  FOR UPDATE OF delivery`

/** All of them get one empty text, because other deliveries of their events may still have to be sent. */
const emptyTextSql = `
  WITH uses AS MATERIALIZED (
    SELECT delivery.body_id, count(*)::int AS count
    FROM unnest($1::text[], $2::bigint[]) AS erased (destination_id, id)
    JOIN evroute_deliveries delivery
      ON delivery.destination_id = erased.destination_id AND delivery.id = erased.id
    GROUP BY delivery.body_id
  ), held AS MATERIALIZED (
    SELECT message.id, message.deliveries - uses.count AS left_over
    FROM uses JOIN evroute_messages message ON message.id = uses.body_id
    ORDER BY message.id FOR UPDATE OF message
  ), kept AS (
    UPDATE evroute_messages message SET deliveries = held.left_over
    FROM held WHERE message.id = held.id AND held.left_over > 0
  ), dropped AS (
    DELETE FROM evroute_messages message
    USING held WHERE message.id = held.id AND held.left_over <= 0
  )
  INSERT INTO evroute_messages (id, deliveries, body)
  VALUES (nextval('evroute_message_ids'), cardinality($1::text[]), '') RETURNING id`

const eraseSql = `
  UPDATE evroute_deliveries delivery SET
    user_id = NULL, previous_id = NULL, is_erased = true, body_id = $4, message_id = erased.message_id,
    settled_at = CASE state WHEN 'pending' THEN $5::bigint ELSE settled_at END,
    reason = CASE state WHEN 'delivered' THEN reason ELSE '${erasedReason}' END,
    state = CASE state WHEN 'pending' THEN 'failed' ELSE state END,
    lease_holder = NULL, lease = NULL, leased_until = NULL
  FROM unnest($1::text[], $2::bigint[], $3::text[]) AS erased (destination_id, id, message_id)
  WHERE delivery.destination_id = erased.destination_id AND delivery.id = erased.id`

const forgetAnswersSql = `
  UPDATE evroute_requests request SET excerpt = ''
  FROM unnest($1::text[], $2::bigint[]) AS erased (destination_id, id)
  WHERE request.destination_id = erased.destination_id AND request.delivery_id = erased.id
    AND request.excerpt <> ''`

const forgetSeenSql = `
  WITH held AS MATERIALIZED (
    SELECT seen.source_id, seen.message_id
    FROM unnest($1::text[], $2::text[]) AS erased (source_id, message_id)
    JOIN evroute_seen seen
      ON seen.source_id = erased.source_id AND seen.message_id = erased.message_id
    ORDER BY seen.source_id, seen.message_id FOR UPDATE OF seen)
  DELETE FROM evroute_seen seen USING held
  WHERE seen.source_id = held.source_id AND seen.message_id = held.message_id`

const countSql = countChanges(
  ['pending', 'failed'],
  `SELECT destination_id, -count(*) AS pending, count(*) AS failed
   FROM unnest($1::text[]) AS failed (destination_id) GROUP BY destination_id`,
)

/** Holds those of some deliveries that are there, and tells which of them are given out. */
export function holdDeliveries(
  session: Session,
  places: readonly WalkPlace[],
  { nowMs, own }: { readonly nowMs: number; readonly own: OwnLeases },
): Promise<readonly HeldRow[]> {
  const destinationIds = places.map(({ destinationId }) => destinationId)
  const ids = places.map(({ id }) => id)
  const values = [destinationIds, ids, nowMs, own.holder, own.numbers]
  return session.rows<HeldRow>({ name: 'hold_deliveries', sql: holdSql, values })
}

/** Takes out of deliveries that are held whom they are about; those that wait fail. */
export async function eraseDeliveries(
  session: Session,
  rows: readonly HeldRow[],
  nowMs: number,
): Promise<void> {
  if (rows.length === 0) return
  const keys = [rows.map((row) => row.destination_id), rows.map(({ id }) => id)]
  const text = { name: 'empty_texts', sql: emptyTextSql, values: keys }
  const [body] = await session.rows<{ readonly id: number }>(text)
  const messageIds = rows.map((row) => (namesUser(row) ? `erased-${row.id}` : row.message_id))
  const values = [...keys, messageIds, body?.id ?? 0, nowMs]
  await session.rows({ name: 'erase_deliveries', sql: eraseSql, values })
  await session.rows({ name: 'forget_answers', sql: forgetAnswersSql, values: keys })
  await forgetSeen(session, rows.filter(namesUser))
  const failed = rows.filter(({ state }) => state === 'pending').map((row) => row.destination_id)
  if (failed.length > 0) await session.rows({ sql: countSql, values: [failed] })
}

/** Forgets that messageIds were seen. */
export async function forgetSeen(
  session: Session,
  keys: readonly { readonly source_id: string; readonly message_id: string }[],
): Promise<void> {
  if (keys.length === 0) return
  const values = [keys.map((key) => key.source_id), keys.map((key) => key.message_id)]
  await session.rows({ name: 'forget_named', sql: forgetSeenSql, values })
}

function namesUser({
  message_id: messageId,
  user_id: userId,
  previous_id: previousId,
}: HeldRow): boolean {
  return [userId, previousId].some((id) => id !== null && messageId.includes(id))
}
