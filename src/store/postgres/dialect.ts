import { hash } from 'node:crypto'
import { raw, run, sql, type Dialect, type Script } from '../sql.ts'
import { isOfUser } from './tables.ts'

/**
 * A table expression that locks an empty table, so that its transaction and {@link awaitEvents} wait for each other.
 * Each statement that adds a batch begins with it, and so does a look-up of suppressed users before an add in the same
 * transaction.
 */
export const holdGate = 'gate AS (SELECT FROM evroute_gate FOR KEY SHARE)'

/** The SQL dialect of PostgreSQL. */
export const dialect: Dialect = Object.freeze({
  forUpdate: raw('FOR UPDATE'),
  forUpdateSkipLocked: raw('FOR UPDATE SKIP LOCKED'),
  given: (rows, columns) => {
    const names = Object.keys(columns)
    const typed = Object.entries(columns).map(([name, type]) => `${name} ${type}`)
    return sql`ROWS FROM (jsonb_to_recordset(${JSON.stringify(rows, names)}::jsonb)
      AS (${raw(typed.join(', '))})) WITH ORDINALITY AS given (${raw([...names, 'position'].join(', '))})`
  },
  // `OFFSET 0` keeps the planner from choosing a different join.
  deliveriesOfEach: (columns, condition, end = raw('OFFSET 0')) => sql`CROSS JOIN LATERAL (
    SELECT ${raw(columns)} FROM evroute_deliveries delivery WHERE ${condition} ${end}) delivery`,
  isOneOf: (column, select) => sql`${raw(column)} = ANY (ARRAY(${select}))`,
  isOfUser,
  keyOf: keyDigest,
  key: (expression) => sql`decode(${expression}, 'hex')`,
  gate: raw(holdGate),
  jsonArray: raw('json_agg'),
  newTextId: raw("nextval('evroute_message_ids')"),
  lockTable: (table) => run(raw(`LOCK TABLE ${table} IN SHARE MODE`)),
} satisfies Dialect)

/** Returns half of a SHA-256 in hexadecimal, which is enough to prevent deliberate collisions. */
export function keyDigest(text: string): string {
  return hash('sha256', text).slice(0, 32)
}

/**
 * Waits for transactions that are adding events, and blocks new ones until this transaction ends. The blocked
 * transactions then see its changes.
 *
 * New adds wait behind a pending lock. So each try to lock ends after one second, and adds can pass during the next
 * second. Otherwise, a process suspended during an add would make the adds of all other processes fail.
 */
export function awaitEvents(): Script<void> {
  return run(raw(closeGate))
}

const closeGate = `DO $$ DECLARE limit_before text := current_setting('lock_timeout'); BEGIN
  FOR tries IN 1..10 LOOP
    BEGIN
      SET LOCAL lock_timeout = '1s';
      LOCK TABLE evroute_gate IN EXCLUSIVE MODE;
      PERFORM set_config('lock_timeout', limit_before, true);
      RETURN;
    EXCEPTION WHEN lock_not_available THEN
      IF tries = 10 THEN RAISE; END IF;
      PERFORM pg_sleep(1);
    END;
  END LOOP;
END $$`
