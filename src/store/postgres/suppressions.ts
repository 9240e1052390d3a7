import { run, type Script } from '../sql/index.ts'
import { everySource } from '../suppressions.ts'

/**
 * A condition: whether calls from a source, or from a replay of it, are dropped because a user is
 * suppressed. If no user is suppressed, a statement checks this once.
 *
 * @param sourceId - an expression; a column must be named with its table
 * @param userIds - such expressions; null for no user
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
 * The first part of a statement that adds events, or asks for suppressed users before its transaction
 * adds them. A transaction that stores a regulation waits for these with {@link awaitEvents}, and they
 * wait for it. It locks only a table that is always empty.
 */
export const holdGate = 'gate AS (SELECT FROM evroute_gate FOR KEY SHARE)'

/**
 * Waits until all transactions that add events have ended. Until the end of this transaction no other
 * adds events; later ones see its changes.
 */
export function awaitEvents(): Script<void> {
  return run({ sql: 'LOCK TABLE evroute_gate IN EXCLUSIVE MODE', values: [] })
}
