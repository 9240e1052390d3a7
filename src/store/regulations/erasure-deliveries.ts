import { erasedReason } from '../../model/index.ts'
import { firstRow, raw, rowsOf, run, sql, type Dialect, type Script, type Sql } from '../sql.ts'
import {
  erasableColumns,
  rowKeyColumns,
  type DeliveryRowKey,
  type ErasableRow,
  type ErasureEngine,
  type HeldRow,
} from './regulation-engine.ts'

/** A messageId that is kept for deduplication. Texts are in their stored form. */
type SeenKey = { readonly source_id: string; readonly message_id: string }

/** The condition that joins deliveries with their keys in the table `given`. */
const hasGivenKey = raw('delivery.destination_id = given.destination_id AND delivery.id = given.id')

/**
 * Returns the next deliveries after `key` with ids up to `lastId`, all of one destination; none at the end.
 *
 * An erasure checks all deliveries this way. It cannot use the index of users: the index does not contain the
 * previousIds of aliases, and a regulation may name 5,000 users.
 */
export function* deliveriesAfter(
  key: DeliveryRowKey,
  { lastId, rowsMax }: { readonly lastId: number; readonly rowsMax: number },
): Script<readonly ErasableRow[]> {
  let [destinationId, id]: [string | null, number] = [key.destination_id, key.id]
  while (destinationId !== null) {
    const rows = yield* rowsOf<ErasableRow>(sql`
      SELECT ${raw(erasableColumns)} FROM evroute_deliveries
      WHERE destination_id = ${destinationId} AND id > ${id} AND id <= ${lastId}
      ORDER BY id LIMIT ${rowsMax}`)
    if (rows.length > 0) return rows
    ;[destinationId, id] = [yield* destinationAfter(destinationId), 0]
  }
  return []
}

function* destinationAfter(destinationId: string): Script<string | null> {
  const row = yield* firstRow<{ readonly id: string | null }>(sql`
    SELECT min(destination_id) AS id FROM evroute_counts
    WHERE destination_id > ${destinationId} AND destination_id <> ''`)
  return row?.id ?? null
}

/** Locks deliveries, and returns those that exist. */
export function hold(
  { dialect, isUnleased }: ErasureEngine,
  keys: readonly DeliveryRowKey[],
  nowMs: number,
): Script<readonly HeldRow[]> {
  const { forUpdate, given } = dialect
  const columns = erasableColumns.split(', ').map((column) => `delivery.${column}`)
  return rowsOf<HeldRow>(sql`
    SELECT ${raw(columns.join(', '))}, state = 'pending' AND NOT ${isUnleased(nowMs)} AS "isLeased"
    FROM ${given(keys, rowKeyColumns)} JOIN evroute_deliveries delivery ON ${hasGivenKey}
    ORDER BY delivery.destination_id, delivery.id ${forUpdate}`)
}

/** Removes all data about users from locked deliveries, and fails the pending ones. */
export function* eraseDeliveries(
  engine: ErasureEngine,
  rows: readonly HeldRow[],
  nowMs: number,
): Script<void> {
  if (rows.length === 0) return
  const { dialect } = engine
  const keys = dialect.given(rows, rowKeyColumns)
  const textId = yield* emptyText(keys, rows.length, dialect)
  const erased = rows.map((row) => ({
    ...row,
    message_id: namesUser(row) ? `erased-${row.id}` : row.message_id,
  }))
  yield* run(sql`
    UPDATE evroute_deliveries AS delivery SET
      user_id = NULL, previous_id = NULL, body_id = ${textId}, message_id = given.message_id,
      try_excerpt = '', traceparent = NULL,
      settled_at = CASE state WHEN 'pending' THEN CAST(${nowMs} AS bigint) ELSE settled_at END,
      reason = CASE state WHEN 'delivered' THEN reason ELSE ${raw(`'${erasedReason}'`)} END,
      state = CASE state WHEN 'pending' THEN 'failed' ELSE state END${engine.releasedColumns}${engine.erasedColumns}
    FROM ${dialect.given(erased, { ...rowKeyColumns, message_id: 'text' })} WHERE ${hasGivenKey}`)
  yield* engine.forgetAnswers(keys)
  yield* forgetSeen(rows.filter(namesUser), dialect)
  const failed = rows.filter(({ state }) => state === 'pending')
  if (failed.length > 0) yield* engine.countChanges(failed, 'failed')
}

/** Deletes messageIds that are kept for deduplication. Locks them in the same order as `add`. */
export function* forgetSeen(
  keys: readonly SeenKey[],
  { forUpdate, given, isOneOf }: Dialect,
): Script<void> {
  if (keys.length === 0) return
  const rows = given(keys, { source_id: 'text', message_id: 'text' })
  const named = sql`${isOneOf('source_id', sql`SELECT given.source_id FROM ${rows}`)}
    AND ${isOneOf('message_id', sql`SELECT given.message_id FROM ${rows}`)}
    AND (source_id, message_id) IN (SELECT given.source_id, given.message_id FROM ${rows})`
  yield* run(
    sql`SELECT 1 FROM evroute_seen WHERE ${named} ORDER BY source_id, message_id ${forUpdate}`,
  )
  yield* run(sql`DELETE FROM evroute_seen WHERE ${named}`)
}

/** Adds one empty body for all the deliveries, and returns its id. Deletes old bodies that no other delivery uses. */
function* emptyText(
  keys: Sql,
  deliveries: number,
  { forUpdate, given, isOneOf, newTextId }: Dialect,
): Script<number> {
  const uses = yield* rowsOf<{ readonly id: number; readonly uses: number }>(sql`
    SELECT delivery.body_id AS id, count(*) AS uses
    FROM ${keys} JOIN evroute_deliveries delivery ON ${hasGivenKey} GROUP BY delivery.body_id`)
  const texts = given(uses, { id: 'bigint', uses: 'bigint' })
  const isUsed = isOneOf('id', sql`SELECT given.id FROM ${texts}`)
  yield* run(sql`SELECT 1 FROM evroute_messages WHERE ${isUsed} ORDER BY id ${forUpdate}`)
  yield* run(sql`UPDATE evroute_messages AS message SET deliveries = message.deliveries - given.uses
    FROM ${texts} WHERE message.id = given.id`)
  yield* run(sql`DELETE FROM evroute_messages WHERE deliveries <= 0 AND ${isUsed}`)
  const row = yield* firstRow<{ readonly id: number }>(sql`
    INSERT INTO evroute_messages (id, deliveries, body) VALUES (${newTextId}, ${deliveries}, '')
    RETURNING id`)
  return row?.id ?? 0
}

function namesUser({
  message_id: messageId,
  user_id: userId,
  previous_id: previousId,
}: HeldRow): boolean {
  return [userId, previousId].some((id) => id !== null && messageId.includes(id))
}
