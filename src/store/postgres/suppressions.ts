import { toStored } from '../stored-text.ts'
import type { Session } from './database.ts'

/** Stands in the place of a source where the calls of a user are dropped from all. */
const everySource = ''

/**
 * A condition: whether calls that come from a source, or from a replay of it, are dropped because of
 * whom they are about. Where nobody is suppressed it is asked once a statement.
 *
 * @param sourceId - an expression; a column has to be named with its table
 * @param userIds - such expressions; null is nobody
 */
export function isSuppressed(sourceId: string, userIds: readonly string[]): string {
  return `((SELECT EXISTS (SELECT 1 FROM evroute_suppressions)) AND EXISTS (
    SELECT 1 FROM unnest(ARRAY[${userIds.join(', ')}]::text[]) AS subject (user_id)
    CROSS JOIN LATERAL (
      SELECT source_id FROM evroute_suppressions WHERE user_id = subject.user_id OFFSET 0) dropped
    WHERE dropped.source_id IN ('${everySource}', ${sourceId})
      OR starts_with(${sourceId}, dropped.source_id || '/')))`
}

/**
 * Comes first in a statement that writes events, or asks who is suppressed before their transaction
 * does: whoever stores a regulation waits for it with {@link awaitEvents}, and the other way round. Takes
 * nothing but the lock of a table that is always empty.
 */
export const holdGate = 'gate AS (SELECT FROM evroute_gate FOR KEY SHARE)'

/**
 * Waits until every event that others are writing is written; until the end of the transaction nobody
 * writes another one, and who does later knows what it has changed.
 */
export async function awaitEvents(session: Session): Promise<void> {
  await session.rows({ sql: 'LOCK TABLE evroute_gate IN EXCLUSIVE MODE', values: [] })
}

/** Drops the calls of users from some sources; null stands for all. */
export async function suppress(
  session: Session,
  userIds: readonly string[],
  sourceIds: readonly string[] | null,
): Promise<void> {
  const sql = `
    INSERT INTO evroute_suppressions (user_id, source_id)
    SELECT * FROM unnest($1::text[]) AS user_id CROSS JOIN unnest($2::text[]) AS source_id
    WHERE NOT EXISTS (SELECT 1 FROM evroute_suppressions known
      WHERE known.user_id = user_id.user_id AND known.source_id = source_id.source_id)`
  const values = [userIds.map(toStored), sourceIds?.map(toStored) ?? [everySource]]
  await session.rows({ sql, values })
}

/** Accepts the calls of users again that were dropped from some sources; null lifts everything. */
export async function lift(
  session: Session,
  userIds: readonly string[],
  sourceIds: readonly string[] | null,
): Promise<void> {
  const sql = `
    DELETE FROM evroute_suppressions USING unnest($1::text[]) AS lifted (user_id)
    WHERE evroute_suppressions.user_id = lifted.user_id
      AND ($2::text[] IS NULL OR evroute_suppressions.source_id = ANY ($2::text[]))`
  await session.rows({ sql, values: [userIds.map(toStored), sourceIds?.map(toStored) ?? null] })
}
