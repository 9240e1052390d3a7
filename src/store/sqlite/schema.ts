import { EvrouteError } from '../../model/index.ts'
import type { Database } from './database.ts'

/** Marks a file as ours, in the place that SQLite keeps for it: `evrt`. */
const applicationId = 0x65767274

/**
 * The steps from an empty file to the tables of today; the file's `user_version` counts those it has
 * been through. A step that was released is never changed.
 *
 * - `messages`: the text of each webhook, once however many destinations get it
 * - `deliveries`: keyed by the destination; the index holds what is pending, in the order it is due
 * - `seen`: what deduplication remembers
 * - `ledger`: one count per line of the books
 */
const migrations: readonly string[] = [
  `
  CREATE TABLE messages (
    id INTEGER PRIMARY KEY,
    body TEXT NOT NULL
  ) STRICT;

  CREATE TABLE deliveries (
    destination_id TEXT NOT NULL,
    id INTEGER NOT NULL,
    source_id TEXT NOT NULL,
    message_id TEXT NOT NULL,
    type TEXT NOT NULL,
    body_id INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('pending', 'delivered', 'failed', 'expired')),
    due_at INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    first_attempt_at INTEGER,
    refused_urls TEXT NOT NULL,
    reason TEXT,
    settled_at INTEGER,
    PRIMARY KEY (destination_id, id)
  ) STRICT, WITHOUT ROWID;

  CREATE INDEX deliveries_due ON deliveries (destination_id, due_at, id) WHERE state = 'pending';

  CREATE TABLE seen (
    source_id TEXT NOT NULL,
    message_id TEXT NOT NULL,
    seen_at INTEGER NOT NULL,
    PRIMARY KEY (source_id, message_id)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE ledger (
    name TEXT PRIMARY KEY,
    count INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  `,
]

/**
 * Brings a file to the tables of today; a file that has them is left as it is.
 *
 * @throws EvrouteError `store_unusable` for a file of another program or of a newer evroute
 */
export function migrate(database: Database, path: string): void {
  const version = pragma(database, 'user_version')
  const owner = pragma(database, 'application_id')
  if (owner !== applicationId && (owner !== 0 || !isEmpty(database))) {
    throw new EvrouteError({
      code: 'store_unusable',
      message: `Cannot use ${path} as a store: it belongs to another program`,
      hint: 'Name another file; it is made when it does not exist.',
    })
  }
  if (version > migrations.length) {
    throw new EvrouteError({
      code: 'store_unusable',
      message: `Cannot use the store ${path}: a newer version of evroute made it`,
      hint: 'Use that version, or another file.',
    })
  }
  for (const [index, step] of migrations.entries()) {
    if (index < version) continue
    const after = index + 1
    database.exec(
      `BEGIN IMMEDIATE; ${step}; PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${after}; COMMIT`,
    )
  }
}

/** The value of one of SQLite's settings. */
export function pragma(database: Database, name: string): number {
  const row = database.prepare(`PRAGMA ${name}`).get() as Readonly<Record<string, number>>
  return Object.values(row)[0] ?? 0
}

function isEmpty(database: Database): boolean {
  return database.prepare('SELECT 1 FROM sqlite_schema LIMIT 1').get() === undefined
}
