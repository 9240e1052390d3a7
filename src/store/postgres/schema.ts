import { EvrouteError } from '../../model/index.ts'
import { sleep, systemClock } from '../../runtime/index.ts'
import { MissingStoreError } from '../missing-store.ts'
import { audienceTables } from './audience-tables.ts'
import type { Database, Session } from './database.ts'
import { liveProcesses, processTables } from './delivering-processes.ts'
import { lookUpIndexes } from './look-up-indexes.ts'
import { moveTables } from './move-tables.ts'
import { archiveTables, regulationTables } from './regulation-tables.ts'
import { expiringDeliveries } from './expiring-deliveries.ts'
import { firstTryColumns } from './first-try-columns.ts'
import { requestsOfDeliveries } from './requests-of-deliveries.ts'
import type { OnlineWork, Step } from './step.ts'
import { isLockTimeout } from './store-error.ts'

/** The advisory lock of every change of tables: `evroute` in ASCII. */
export const schemaLock = '28559206516094053'

/**
 * The steps that every program must know, from an empty schema on. A released step is never changed.
 * The tables are in the first schema of the session's search_path.
 *
 * - `messages`: the text of a webhook, once for all deliveries of its event that have it, with their
 *   number
 * - `deliveries`: keyed by the destination. One index has the pending ones in the order in which they
 *   are due, the other the ended ones in the order in which they ended. No index has the lease, so
 *   that a claim writes to none; `fillfactor` leaves room in each page for the new row
 * - `requests`: the requests and their answers, in partitions of days. Only dropping a partition
 *   returns disk space. Successes, which are most of them, are apart from the others, which are kept
 *   for longer
 * - `seen`: the messageIds for deduplication
 * - `counts`: the ledger and the numbers of purged deliveries, per destination. The sum of several
 *   rows counts
 * - `holders`: counts the processes that have leased deliveries
 * - `processes`: where each process sends, and until when it counts
 */
const firstSteps: readonly (readonly string[])[] = [
  [
    `CREATE TABLE evroute_messages (
      id bigint PRIMARY KEY,
      deliveries integer NOT NULL,
      body text NOT NULL
    ) WITH (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0)`,
    'CREATE SEQUENCE evroute_message_ids OWNED BY evroute_messages.id',

    `CREATE TABLE evroute_deliveries (
      destination_id text COLLATE "C" NOT NULL,
      id bigint NOT NULL,
      body_id bigint NOT NULL,
      accepted_at bigint NOT NULL,
      due_at bigint NOT NULL,
      first_attempt_at bigint,
      expires_at bigint,
      settled_at bigint,
      lease_holder bigint,
      lease bigint,
      leased_until bigint,
      attempts integer NOT NULL,
      window_attempts integer NOT NULL,
      manual_retries integer NOT NULL,
      source_id text COLLATE "C" NOT NULL,
      message_id text COLLATE "C" NOT NULL,
      type text COLLATE "C" NOT NULL,
      user_id text COLLATE "C",
      state text COLLATE "C" NOT NULL CHECK (state IN ('pending', 'delivered', 'failed', 'expired')),
      lane text COLLATE "C" NOT NULL CHECK (lane IN ('first', 'retry', 'manual')),
      holds text NOT NULL,
      reason text,
      PRIMARY KEY (destination_id, id)
    ) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000,
      autovacuum_vacuum_cost_delay = 0, autovacuum_analyze_scale_factor = 0.05)`,
    'CREATE SEQUENCE evroute_delivery_ids OWNED BY evroute_deliveries.id',
    `CREATE INDEX evroute_deliveries_waiting ON evroute_deliveries (destination_id, lane, due_at, id)
      WHERE state = 'pending'`,
    `CREATE INDEX evroute_deliveries_ended ON evroute_deliveries (destination_id, state, settled_at)
      WHERE state <> 'pending'`,

    'CREATE SEQUENCE evroute_request_ids',
    `CREATE TABLE evroute_requests (
      destination_id text COLLATE "C" NOT NULL,
      delivery_id bigint NOT NULL,
      id bigint NOT NULL DEFAULT nextval('evroute_request_ids'),
      written_at bigint NOT NULL,
      at bigint NOT NULL,
      duration double precision NOT NULL,
      attempt integer NOT NULL,
      status integer,
      lane text COLLATE "C" NOT NULL,
      outcome text COLLATE "C" NOT NULL,
      url text NOT NULL,
      error text,
      excerpt text NOT NULL
    ) PARTITION BY LIST (outcome)`,
    `CREATE INDEX evroute_requests_of_delivery ON evroute_requests (destination_id, delivery_id)`,
    `CREATE TABLE evroute_requests_success PARTITION OF evroute_requests
      FOR VALUES IN ('success') PARTITION BY RANGE (written_at)`,
    `CREATE TABLE evroute_requests_failure PARTITION OF evroute_requests
      FOR VALUES IN ('retry', 'final') PARTITION BY RANGE (written_at)`,

    `CREATE TABLE evroute_seen (
      source_id text COLLATE "C" NOT NULL,
      message_id text COLLATE "C" NOT NULL,
      seen_at bigint NOT NULL,
      PRIMARY KEY (source_id, message_id)
    ) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0)`,
    'CREATE INDEX evroute_seen_by_time ON evroute_seen (seen_at)',

    `CREATE TABLE evroute_counts (
      destination_id text COLLATE "C" NOT NULL,
      slot integer NOT NULL,
      accepted bigint NOT NULL DEFAULT 0,
      routed bigint NOT NULL DEFAULT 0,
      filtered bigint NOT NULL DEFAULT 0,
      duplicate bigint NOT NULL DEFAULT 0,
      suppressed bigint NOT NULL DEFAULT 0,
      deliveries bigint NOT NULL DEFAULT 0,
      pending bigint NOT NULL DEFAULT 0,
      delivered bigint NOT NULL DEFAULT 0,
      failed bigint NOT NULL DEFAULT 0,
      expired bigint NOT NULL DEFAULT 0,
      purged_delivered bigint NOT NULL DEFAULT 0,
      purged_failed bigint NOT NULL DEFAULT 0,
      purged_expired bigint NOT NULL DEFAULT 0,
      PRIMARY KEY (destination_id, slot)
    ) WITH (fillfactor = 20, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500,
      autovacuum_vacuum_cost_delay = 0)`,

    'CREATE SEQUENCE evroute_holders',
  ],
  moveTables,
  [...regulationTables, ...audienceTables],
  processTables,
  archiveTables,
]

/** All steps in their order; a new one comes last. */
const steps: readonly Step[] = [
  ...firstSteps.map((changes): Step => ({ kind: 'contract', changes })),
  requestsOfDeliveries,
  expiringDeliveries,
  lookUpIndexes,
  liveProcesses,
  firstTryColumns,
]

/** The version of a store. */
interface StoreVersion {
  /** The number of steps that were done. */
  readonly steps: number
  /** The number of steps that a program must know to use it. */
  readonly usableFrom: number
}

/**
 * The limit for a step to wait for transactions that use a table. All later transactions wait behind
 * it.
 */
const stepLockTimeoutMs = 2_000

/** The pause before the steps are tried again. */
const stepPauseMs = 1_000

/** Enough for a dump of about ten minutes. */
const stepTriesMax = 200

/**
 * Upgrades a database to the tables of this version, and leaves an upgraded one as it is. Of several
 * processes that start at once, one does it and the others wait. Processes that use the database wait
 * for some seconds at a time, however long another transaction holds its tables.
 *
 * `evroute_migrations` has the steps that a program must know to use the store, `evroute_steps` those
 * that only added something. A program that does not know some of the latter works, and leaves them
 * alone.
 *
 * @throws EvrouteError `store_unusable` for tables that only a newer evroute can use
 */
export async function migrate(database: Database): Promise<void> {
  if ((await storeVersion(database)).steps >= steps.length) return
  for (let tries = 1; ; tries++) {
    try {
      await database.transaction(goThroughSteps)
      return
    } catch (error) {
      if (!isLockTimeout((error as Error).cause) || tries >= stepTriesMax) throw error
    }
    await sleep(systemClock, stepPauseMs)
  }
}

async function goThroughSteps(session: Session): Promise<void> {
  await run(session, `SELECT pg_advisory_xact_lock(${schemaLock})`)
  await run(session, `SET LOCAL lock_timeout = ${stepLockTimeoutMs}`)
  // First, because a session that looked for the tables earlier would not see those that another session
  // makes.
  await run(session, 'CREATE TABLE IF NOT EXISTS evroute_migrations (version integer PRIMARY KEY)')
  await run(
    session,
    `CREATE TABLE IF NOT EXISTS evroute_steps (step integer PRIMARY KEY, is_complete boolean NOT NULL)`,
  )
  const { steps: done } = await storeVersion(session)
  for (const [index, step] of steps.entries()) {
    if (index >= done) await goThroughStep(session, { step, number: index + 1, isNew: done === 0 })
  }
}

/** A new store has no rows, so nothing takes long. */
async function goThroughStep(
  session: Session,
  {
    step,
    number,
    isNew,
  }: { readonly step: Step; readonly number: number; readonly isNew: boolean },
): Promise<void> {
  const { kind, changes, online } = step
  const indexes = isNew ? (online?.indexes ?? []) : []
  const built = indexes.map(({ name, on }) => `CREATE INDEX ${name} ${on}`)
  for (const statement of [...changes, ...built]) await run(session, statement)
  const isComplete = isNew || online === undefined
  const note =
    kind === 'contract'
      ? `INSERT INTO evroute_migrations (version) VALUES (${number})`
      : `INSERT INTO evroute_steps (step, is_complete) VALUES (${number}, ${isComplete})`
  await run(session, note)
}

/** The online work that is not done yet, by the number of its step. */
export async function unfinishedWork(session: Session): Promise<ReadonlyMap<number, OnlineWork>> {
  const sql = 'SELECT step FROM evroute_steps WHERE NOT is_complete ORDER BY step'
  const rows = await session.rows<{ readonly step: number }>({ sql, values: [] })
  return new Map(
    rows.flatMap(({ step }) => {
      const online = steps[step - 1]?.online
      return online === undefined ? [] : [[step, online] as const]
    }),
  )
}

/**
 * Checks that a database has the tables of this version, and changes nothing.
 *
 * @throws MissingStoreError for missing tables; EvrouteError `store_unusable` for tables of an older
 * evroute, or tables that only a newer one can use
 */
export async function expectTables(database: Database): Promise<void> {
  const { steps: done } = await storeVersion(database)
  if (done >= steps.length) return
  if (done === 0) {
    throw new MissingStoreError({
      message: `Cannot use the store ${database.name}: the database holds no store yet`,
      hint: 'Deliver from it once, which makes the store, or name another database.',
    })
  }
  throw new EvrouteError({
    code: 'store_unusable',
    message: `Cannot use the store ${database.name}: an older version of evroute made it`,
    hint: 'Deliver from it once with this version, which brings it up to date.',
  })
}

/**
 * Reads the version of a database, and checks that it can store texts of all languages.
 *
 * @throws EvrouteError `store_unusable` if it cannot, or a newer evroute is needed
 */
async function storeVersion(session: Session): Promise<StoreVersion> {
  const [found] = await session.rows<{
    readonly is_store: boolean
    readonly has_steps: boolean
    readonly encoding: string
  }>({
    sql: `SELECT to_regclass('evroute_migrations') IS NOT NULL AS is_store,
      to_regclass('evroute_steps') IS NOT NULL AS has_steps,
      current_setting('server_encoding') AS encoding`,
    values: [],
  })
  if (found !== undefined && found.encoding !== 'UTF8') throw encodingError(session, found.encoding)
  if (found?.is_store !== true) return { steps: 0, usableFrom: 0 }
  const expanded = found.has_steps ? '(SELECT max(step) FROM evroute_steps)' : '0'
  const [row] = await session.rows<{ readonly usable_from: number; readonly steps: number }>({
    sql: `SELECT coalesce(max(version), 0) AS usable_from,
      greatest(max(version), ${expanded}, 0) AS steps FROM evroute_migrations`,
    values: [],
  })
  const version = { steps: row?.steps ?? 0, usableFrom: row?.usable_from ?? 0 }
  if (version.usableFrom <= steps.length) return version
  throw new EvrouteError({
    code: 'store_unusable',
    message: `Cannot use the store ${session.name}: a newer version of evroute made it`,
    hint: 'Use that version, or another database.',
  })
}

function encodingError({ name }: Session, encoding: string): EvrouteError {
  return new EvrouteError({
    code: 'store_unusable',
    message: `Cannot use the store ${name}: the encoding of the database is ${encoding} and not UTF8`,
    hint: "Make another one with CREATE DATABASE ... ENCODING 'UTF8' TEMPLATE template0.",
  })
}

async function run(session: Session, sql: string): Promise<void> {
  await session.rows({ sql, values: [] })
}
