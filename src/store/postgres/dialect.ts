import { hash } from 'node:crypto'
import { run, type Script, type Dialect } from '../sql.ts'
import { everySource } from '../suppressions.ts'

/**
 * The first part of a statement that adds events, or that looks up suppressed users before its transaction
 * adds events. Such a transaction and one that calls {@link awaitEvents} wait for each other. The lock is on
 * a table that is always empty.
 */
export const holdGate = 'gate AS (SELECT FROM evroute_gate FOR KEY SHARE)'

/** The SQL dialect of PostgreSQL. */
export const dialect: Dialect = Object.freeze({
  forUpdate: 'FOR UPDATE',
  forUpdateSkipLocked: 'FOR UPDATE SKIP LOCKED',
  given: (value, columns) => {
    const typed = Object.entries(columns).map(([name, type]) => `${name} ${type}`)
    const names = [...Object.keys(columns), 'place']
    return `ROWS FROM (jsonb_to_recordset(${value}::jsonb) AS (${typed.join(', ')}))
      WITH ORDINALITY AS given (${names.join(', ')})`
  },
  // `OFFSET 0` keeps the planner from choosing a different join.
  deliveriesOfEach: (columns, condition, end = 'OFFSET 0') => `CROSS JOIN LATERAL (
    SELECT ${columns} FROM evroute_deliveries delivery WHERE ${condition} ${end}) delivery`,
  isOneOf: (column, select) => `${column} = ANY (ARRAY(${select}))`,
  keyOf: keyDigest,
  key: (expression) => `decode(${expression}, 'hex')`,
  gate: holdGate,
  newTextId: "nextval('evroute_message_ids')",
  lockTable: (table, mode) => run({ sql: `LOCK TABLE ${table} IN ${mode} MODE`, values: [] }),
} satisfies Dialect)

/** Returns half of a SHA-256 in hexadecimal digits, which is enough to prevent deliberate collisions. */
export function keyDigest(text: string): string {
  return hash('sha256', text).slice(0, 32)
}

/**
 * Returns an SQL condition: calls from a source, or from a replay of it, are dropped because a user is
 * suppressed. A statement checks only once whether there are suppressed users at all.
 *
 * @param sourceId - an expression; a column must be named with its table
 * @param userIds - expressions of the same kind; null for no user
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
 * Waits until all transactions that add events have ended. Until this transaction ends, no other transaction
 * adds events. Later ones see its changes.
 */
export function awaitEvents(): Script<void> {
  return run({ sql: 'LOCK TABLE evroute_gate IN EXCLUSIVE MODE', values: [] })
}
