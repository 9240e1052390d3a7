import { EvrouteError } from '../../model/index.ts'
import { audienceTables } from './audience-tables.ts'
import type { Database } from './database.ts'
import { moveTables } from './move-tables.ts'
import { numberedTables } from './numbered-tables.ts'
import { oneOf } from './one-of.ts'
import { regulationTables } from './regulation-tables.ts'

/** Marks a file as ours, in the place that SQLite keeps for it: `evrt`. */
const applicationId = 0x65767274

/**
 * The steps from an empty file to the tables of today; the file's `user_version` counts those it has
 * been through. A step that was released is never changed.
 *
 * - `messages`: the text of a webhook, once however many deliveries of its event have it, with how
 *   many those are
 * - `deliveries`: keyed by the destination; one index holds what waits, in the order it is due, the
 *   other what came to its end, in the order it did
 * - `requests`: what was sent, and how it was answered; `id` orders those of a delivery
 * - `seen`: what deduplication remembers
 * - `counts`: the books and what was purged, per destination; how many ids were given out
 */
const migrations: readonly string[] = [
  `
  CREATE TABLE messages (
    id INTEGER PRIMARY KEY,
    deliveries INTEGER NOT NULL,
    body TEXT NOT NULL
  ) STRICT;

  CREATE TABLE deliveries (
    destination_id TEXT NOT NULL,
    id INTEGER NOT NULL,
    source_id TEXT NOT NULL,
    message_id TEXT NOT NULL,
    type TEXT NOT NULL,
    user_id TEXT,
    body_id INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (${oneOf('state', 'pending', 'delivered', 'failed', 'expired')}),
    lane TEXT NOT NULL CHECK (${oneOf('lane', 'first', 'retry', 'manual')}),
    accepted_at INTEGER NOT NULL,
    due_at INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    window_attempts INTEGER NOT NULL,
    first_attempt_at INTEGER,
    expires_at INTEGER,
    holds TEXT NOT NULL,
    reason TEXT,
    settled_at INTEGER,
    manual_retries INTEGER NOT NULL,
    PRIMARY KEY (destination_id, id)
  ) STRICT, WITHOUT ROWID;

  CREATE INDEX deliveries_waiting ON deliveries (destination_id, lane, due_at, id)
    WHERE state = 'pending';

  CREATE INDEX deliveries_ended ON deliveries (destination_id, state, settled_at)
    WHERE state <> 'pending';

  CREATE TABLE requests (
    destination_id TEXT NOT NULL,
    delivery_id INTEGER NOT NULL,
    id INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    lane TEXT NOT NULL,
    url TEXT NOT NULL,
    at INTEGER NOT NULL,
    duration REAL NOT NULL,
    outcome TEXT NOT NULL CHECK (${oneOf('outcome', 'success', 'retry', 'final')}),
    status INTEGER,
    error TEXT,
    excerpt TEXT NOT NULL,
    PRIMARY KEY (destination_id, delivery_id, id)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE seen (
    source_id TEXT NOT NULL,
    message_id TEXT NOT NULL,
    seen_at INTEGER NOT NULL,
    PRIMARY KEY (source_id, message_id)
  ) STRICT, WITHOUT ROWID;

  CREATE INDEX seen_by_time ON seen (seen_at);

  CREATE TABLE counts (
    destination_id TEXT NOT NULL,
    name TEXT NOT NULL,
    count INTEGER NOT NULL,
    PRIMARY KEY (destination_id, name)
  ) STRICT, WITHOUT ROWID;
  `,
  regulationTables,
  audienceTables,
  moveTables,
  numberedTables,
]

/**
 * Brings a file to the tables of today; a file that has them is left as it is.
 *
 * @throws EvrouteError `store_unusable` for a file of another program or of a newer evroute
 */
export function migrate(database: Database, path: string): void {
  const version = isNew(database) ? 0 : storeVersion(database, path)
  for (const [index, step] of migrations.entries()) {
    if (index < version) continue
    const after = index + 1
    database.exec(
      `BEGIN IMMEDIATE; ${step}; PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${after}; COMMIT`,
    )
  }
}

/**
 * Makes sure that a file has the tables of today, and changes nothing.
 *
 * @throws EvrouteError `store_unusable` for an empty file, one of another program, of an older or a
 * newer evroute
 */
export function expectTables(database: Database, path: string): void {
  if (isNew(database)) {
    throw new EvrouteError({
      code: 'store_unusable',
      message: `Cannot use the store ${path}: the file holds no store yet`,
      hint: 'Deliver from it once, which makes the store, or name another file.',
    })
  }
  if (storeVersion(database, path) === migrations.length) return
  throw new EvrouteError({
    code: 'store_unusable',
    message: `Cannot use the store ${path}: an older version of evroute made it`,
    hint: 'Deliver from it once with this version, which brings it up to date.',
  })
}

function storeVersion(database: Database, path: string): number {
  const version = pragma(database, 'user_version')
  if (pragma(database, 'application_id') !== applicationId) {
    throw new EvrouteError({
      code: 'store_unusable',
      message: `Cannot use ${path} as a store: it belongs to another program`,
      hint: 'Name another file; whoever delivers makes it when it does not exist.',
    })
  }
  if (version > migrations.length) {
    throw new EvrouteError({
      code: 'store_unusable',
      message: `Cannot use the store ${path}: a newer version of evroute made it`,
      hint: 'Use that version, or another file.',
    })
  }
  return version
}

/** The value of one of SQLite's settings. */
export function pragma(database: Database, name: string): number {
  const row = database.prepare(`PRAGMA ${name}`).get() as Readonly<Record<string, number>>
  return Object.values(row)[0] ?? 0
}

/** Tells whether nobody has made anything in a file. */
function isNew(database: Database): boolean {
  if (pragma(database, 'application_id') !== 0) return false
  return database.prepare('SELECT 1 FROM sqlite_schema LIMIT 1').get() === undefined
}
