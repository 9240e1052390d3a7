import { sleep, systemClock } from '../../runtime/index.ts'
import { raw, sql } from '../sql.ts'
import { unusable, MissingStoreError } from '../store-errors.ts'
import type { Database, Session } from './database.ts'
import { isLockTimeout } from './store-error.ts'
import { addedIndexes, additions, firstTables, firstVersion, latestVersion } from './tables.ts'

/** The advisory lock for changing tables: `evroute` in ASCII. */
export const schemaLock = '28559206516094053'

/** How long a change waits for transactions that use a table. Meanwhile, later transactions wait too. */
const changeLockTimeoutMs = 2_000

/** How long to wait before trying the changes again. */
const changePauseMs = 1_000

/** Enough tries to outlast a dump of about ten minutes. */
const changeTriesMax = 200

/**
 * Upgrades a database to the tables of this version. If several processes start at the same time, one upgrades and the
 * others wait. If another transaction holds the tables, the upgrade waits for only a few seconds, and tries again
 * later, so that it does not block other processes for longer.
 *
 * `evroute_migrations` has the changes that a program must know to use the store. `evroute_steps` has those that only
 * add something: programs that don't know them still work.
 *
 * @throws EvrouteError `store_unusable` for tables that only a newer evroute can use
 */
export async function migrate(database: Database): Promise<void> {
  if ((await versionOf(database)) >= latestVersion) return
  for (let tries = 1; ; tries++) {
    try {
      await database.transaction(makeChanges, { isLong: true })
      return
    } catch (error) {
      if (!isLockTimeout((error as Error).cause) || tries >= changeTriesMax) throw error
    }
    await sleep(systemClock, changePauseMs)
  }
}

async function makeChanges(session: Session): Promise<void> {
  await runAll(session, [
    `SELECT pg_advisory_xact_lock(${schemaLock})`,
    `SET LOCAL lock_timeout = ${changeLockTimeoutMs}`,
    // Make these tables before looking for others. A session remembers that a table was missing, and may not see
    // that another session has made it.
    'CREATE TABLE IF NOT EXISTS evroute_migrations (version integer PRIMARY KEY)',
    'CREATE TABLE IF NOT EXISTS evroute_steps (step integer PRIMARY KEY, is_complete boolean NOT NULL)',
  ])
  const version = await versionOf(session)
  if (version >= latestVersion) return
  // Build the indexes now only in a new store, where that takes no time because there are no rows.
  const isNew = version === 0
  const first = [...firstTables, `INSERT INTO evroute_migrations VALUES (${firstVersion})`]
  const indexes = addedIndexes.map(({ name, on }) => `CREATE INDEX ${name} ${on}`)
  await runAll(session, [
    ...(isNew ? first : []),
    ...additions,
    ...(isNew ? indexes : []),
    `INSERT INTO evroute_steps VALUES (${latestVersion}, ${isNew})`,
  ])
}

/** Runs statements without values, in order. */
export async function runAll(session: Session, statements: readonly string[]): Promise<void> {
  for (const statement of statements) await session.rows(raw(statement))
}

/**
 * Checks that a database has the tables of this version, and changes nothing.
 *
 * @throws MissingStoreError for missing tables; EvrouteError `store_unusable` for tables of an older evroute, or
 * tables that only a newer one can use
 */
export async function expectTables(database: Database): Promise<void> {
  const version = await versionOf(database)
  if (version >= latestVersion) return
  if (version === 0) {
    throw new MissingStoreError({
      message: `Cannot use the store ${database.name}: the database contains no store yet`,
      hint: 'Start `evroute serve` on it once, which creates the store, or name a different database.',
    })
  }
  throw unusable(
    `Cannot use the store ${database.name}: it was created by an older version of evroute`,
    'To upgrade it, start `evroute serve` of this version on it once.',
  )
}

interface Found {
  readonly is_store: boolean
  readonly has_steps: boolean
  readonly encoding: string
}

/** Returns the schema version of a database; 0 if it contains no store. */
async function versionOf(session: Session): Promise<number> {
  const [found] = await session.rows<Found>(sql`
    SELECT to_regclass('evroute_migrations') IS NOT NULL AS is_store,
      to_regclass('evroute_steps') IS NOT NULL AS has_steps,
      current_setting('server_encoding') AS encoding`)
  if (found !== undefined && found.encoding !== 'UTF8') {
    throw unusable(
      `Cannot use the store ${session.name}: the encoding of the database must be UTF8, but is ${found.encoding}`,
      "Create one with CREATE DATABASE ... ENCODING 'UTF8' TEMPLATE template0.",
    )
  }
  if (found?.is_store !== true) return 0
  const added = raw(found.has_steps ? '(SELECT max(step) FROM evroute_steps)' : '0')
  const [row] = await session.rows<{ readonly usable_from: number; readonly version: number }>(sql`
    SELECT coalesce(max(version), 0) AS usable_from, greatest(max(version), ${added}, 0) AS version
    FROM evroute_migrations`)
  const { usable_from: usableFrom, version } = row ?? { usable_from: 0, version: 0 }
  if (usableFrom <= latestVersion) return version
  throw unusable(
    `Cannot use the store ${session.name}: it was created by a newer version of evroute`,
    'Use that version, or a different database.',
  )
}

/** Throws `store_unusable` while a move from a SQLite file is in progress, which locks the tables until it ends. */
export async function expectNoMove(session: Session): Promise<void> {
  const rows = await session.rows(sql`
    SELECT FROM pg_locks JOIN pg_database ON pg_database.oid = database
    WHERE datname = current_database() AND relation = 'evroute_moves'::regclass
      AND mode = 'AccessExclusiveLock' AND granted`)
  if (rows.length === 0) return
  throw unusable(
    `Cannot use the store ${session.name}: a migration into it is in progress`,
    'Wait until `evroute migrate` has ended, and try again.',
  )
}
