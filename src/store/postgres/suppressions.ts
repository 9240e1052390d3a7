import { run, type Script } from '../sql/index.ts'
import { everySource } from '../suppressions.ts'

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
export function awaitEvents(): Script<void> {
  return run({ sql: 'LOCK TABLE evroute_gate IN EXCLUSIVE MODE', values: [] })
}
