import { erasedReason } from '../added-deliveries.ts'
import { firstRow, givenRows, rowsOf, run, type Dialect, type Script } from '../sql.ts'
import { givenPlaces, placeColumns, type ErasureEngine, type HeldRow } from './regulation-engine.ts'

/** A messageId for deduplication. Texts are in their stored form. */
type SeenKey = { readonly source_id: string; readonly message_id: string }

interface TextUse {
  readonly id: number
  readonly uses: number
}

/** Removes the users from locked deliveries, and fails the pending ones. */
export function* eraseDeliveries(
  engine: ErasureEngine,
  rows: readonly HeldRow[],
  nowMs: number,
): Script<void> {
  if (rows.length === 0) return
  const { dialect } = engine.database
  const textId = yield* emptyText(rows, dialect)
  const erased = rows.map((row) => ({
    destination_id: row.destination_id,
    id: row.id,
    message_id: namesUser(row) ? `erased-${row.id}` : row.message_id,
  }))
  const given = dialect.given('$1', { ...placeColumns, message_id: 'text' })
  const sql = `
    UPDATE evroute_deliveries AS delivery SET
      user_id = NULL, previous_id = NULL, body_id = $2, message_id = given.message_id, try_excerpt = '',
      traceparent = NULL,
      settled_at = CASE state WHEN 'pending' THEN CAST($3 AS bigint) ELSE settled_at END,
      reason = CASE state WHEN 'delivered' THEN reason ELSE '${erasedReason}' END,
      state = CASE state WHEN 'pending' THEN 'failed' ELSE state END${engine.erasedColumns}
    FROM ${given}
    WHERE delivery.destination_id = given.destination_id AND delivery.id = given.id`
  yield* run({ name: 'erase_deliveries', sql, values: [givenRows(erased), textId, nowMs] })
  const answers = {
    name: 'forget_answers',
    sql: engine.forgetAnswersSql,
    values: [givenPlaces(rows)],
  }
  yield* run(answers)
  yield* forgetSeen(rows.filter(namesUser), dialect)
  const failed = rows.filter(({ state }) => state === 'pending')
  if (failed.length > 0) yield* engine.countChanges(failed, 'failed')
}

/** Deletes messageIds for deduplication. Locks them in the same order as an add. */
export function* forgetSeen(keys: readonly SeenKey[], dialect: Dialect): Script<void> {
  if (keys.length === 0) return
  const given = dialect.given('$1', { source_id: 'text', message_id: 'text' })
  const rows = keys.map((key) => ({ source_id: key.source_id, message_id: key.message_id }))
  const values = [givenRows(rows)]
  const { isOneOf } = dialect
  const named = `${isOneOf('source_id', `SELECT given.source_id FROM ${given}`)}
    AND ${isOneOf('message_id', `SELECT given.message_id FROM ${given}`)}
    AND (source_id, message_id) IN (SELECT given.source_id, given.message_id FROM ${given})`
  const hold = `SELECT 1 FROM evroute_seen WHERE ${named}
    ORDER BY source_id, message_id ${dialect.forUpdate}`
  yield* run({ name: 'hold_named', sql: hold, values })
  yield* run({ name: 'forget_named', sql: `DELETE FROM evroute_seen WHERE ${named}`, values })
}

/**
 * Makes one empty body for the deliveries to share, instead of their own. Their own bodies are not emptied,
 * because other deliveries of the same events may still have to be sent.
 *
 * @returns the id of the empty body
 */
function* emptyText(
  rows: readonly HeldRow[],
  { forUpdate, given, isOneOf, newTextId }: Dialect,
): Script<number> {
  const uses = yield* rowsOf<TextUse>({
    name: 'uses_of_texts',
    sql: `SELECT delivery.body_id AS id, count(*) AS uses FROM ${given('$1', placeColumns)}
      JOIN evroute_deliveries delivery
        ON delivery.destination_id = given.destination_id AND delivery.id = given.id
      GROUP BY delivery.body_id`,
    values: [givenPlaces(rows)],
  })
  const ids = given('$1', { id: 'bigint', uses: 'bigint' })
  const values = [givenRows(uses)]
  const isUsed = isOneOf('id', `SELECT given.id FROM ${ids}`)
  const hold = `SELECT 1 FROM evroute_messages WHERE ${isUsed} ORDER BY id ${forUpdate}`
  yield* run({ name: 'hold_texts', sql: hold, values })
  const use = `UPDATE evroute_messages AS message SET deliveries = message.deliveries - given.uses
    FROM ${ids} WHERE message.id = given.id`
  yield* run({ name: 'use_texts_less', sql: use, values })
  const drop = `DELETE FROM evroute_messages WHERE deliveries <= 0 AND ${isUsed}`
  yield* run({ name: 'drop_texts', sql: drop, values })
  const row = yield* firstRow<{ readonly id: number }>({
    name: 'empty_text',
    sql: `INSERT INTO evroute_messages (id, deliveries, body) VALUES (${newTextId}, $1, '') RETURNING id`,
    values: [rows.length],
  })
  return row?.id ?? 0
}

function namesUser({
  message_id: messageId,
  user_id: userId,
  previous_id: previousId,
}: HeldRow): boolean {
  return [userId, previousId].some((id) => id !== null && messageId.includes(id))
}
