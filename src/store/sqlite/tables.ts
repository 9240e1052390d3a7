/** `id >> bucketShift` is a delivery's bucket: 2,048 consecutive ids share one. */
export const bucketShift = 11

/** The tables that are made both in an empty file and by the upgrade from format 8. */
export const sharedTables = `
  CREATE TABLE members (
    audience_id INTEGER NOT NULL, user_key TEXT NOT NULL, member_key TEXT NOT NULL,
    number INTEGER NOT NULL, user_id TEXT, anonymous_id TEXT, email TEXT, value TEXT NOT NULL,
    PRIMARY KEY (audience_id, user_key, member_key)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE archives (id TEXT PRIMARY KEY, name TEXT NOT NULL) STRICT, WITHOUT ROWID;

  CREATE TABLE regulation_archives (
    number INTEGER NOT NULL, archive_id TEXT NOT NULL,
    PRIMARY KEY (number, archive_id)
  ) STRICT, WITHOUT ROWID;
`

/**
 * The SQL that makes the tables of an empty file:
 *
 * - `messages`: the bodies of webhooks. Deliveries of an event with the same body share a row. Ids increase, so
 *   the rows of a commit are on few pages
 * - `deliveries`: the `try_…` columns hold the request if the first try succeeded. A purge finds deliveries through
 *   `deliveries_delivered`, `deliveries_ended` and `deliveries_expiring`. Adds do not write to
 *   `deliveries_expiring`, because untried deliveries are not in it. `deliveries_by_message` and
 *   `deliveries_by_user` begin with the bucket, so the new entries of a commit are on few pages. An index by
 *   messageId alone would make an add write twice as much. A look-up takes about 12 ms per million deliveries
 * - `requests`: all other requests
 * - `seen`: messageIds, for deduplication
 * - `counts`: the ledger
 * - `suppressions`, `regulations`, `regulation_left`, `audiences`: described in `postgres/tables.ts`
 * - `members`: the keys are texts that identify the user and the member
 * - `moves`: one row in a store that has moved to a different engine. `store_id` is its id there, `target` the
 *   name of the new database. `changes` is unused
 */
export const tables = `
  CREATE TABLE messages (
    id INTEGER PRIMARY KEY, deliveries INTEGER NOT NULL, body TEXT NOT NULL
  ) STRICT;

  CREATE TABLE deliveries (
    id INTEGER PRIMARY KEY, destination_id TEXT NOT NULL, source_id TEXT NOT NULL,
    message_id TEXT NOT NULL, type TEXT NOT NULL, user_id TEXT, previous_id TEXT,
    body_id INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (${oneOf('state', 'pending', 'delivered', 'failed', 'expired')}),
    lane TEXT NOT NULL CHECK (${oneOf('lane', 'first', 'retry', 'manual')}),
    accepted_at INTEGER NOT NULL, due_at INTEGER NOT NULL, attempts INTEGER NOT NULL,
    window_attempts INTEGER NOT NULL, first_attempt_at INTEGER, expires_at INTEGER,
    holds TEXT NOT NULL, reason TEXT, settled_at INTEGER, manual_retries INTEGER NOT NULL,
    try_url TEXT, try_at INTEGER, try_duration REAL, try_status INTEGER, try_excerpt TEXT,
    traceparent TEXT
  ) STRICT;

  CREATE INDEX deliveries_waiting ON deliveries (destination_id, lane, due_at, id)
    WHERE state = 'pending';
  CREATE INDEX deliveries_expiring ON deliveries (expires_at)
    WHERE state = 'pending' AND expires_at IS NOT NULL;
  CREATE INDEX deliveries_delivered ON deliveries (settled_at) WHERE state = 'delivered';
  CREATE INDEX deliveries_failed ON deliveries (destination_id, state, settled_at)
    WHERE state = 'failed' OR state = 'expired';
  CREATE INDEX deliveries_ended ON deliveries (settled_at)
    WHERE state = 'failed' OR state = 'expired';
  CREATE INDEX deliveries_listed ON deliveries (destination_id, id);
  CREATE INDEX deliveries_by_message ON deliveries (id >> ${bucketShift}, message_id);
  CREATE INDEX deliveries_by_user ON deliveries (id >> ${bucketShift}, user_id)
    WHERE user_id IS NOT NULL;

  CREATE TABLE requests (
    delivery_id INTEGER NOT NULL, id INTEGER NOT NULL, attempt INTEGER NOT NULL,
    lane TEXT NOT NULL, url TEXT NOT NULL, at INTEGER NOT NULL, duration REAL NOT NULL,
    outcome TEXT NOT NULL CHECK (${oneOf('outcome', 'success', 'retry', 'final')}),
    status INTEGER, error TEXT, excerpt TEXT NOT NULL,
    PRIMARY KEY (delivery_id, id)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE seen (
    source_id TEXT NOT NULL, message_id TEXT NOT NULL, seen_at INTEGER NOT NULL,
    PRIMARY KEY (source_id, message_id)
  ) STRICT, WITHOUT ROWID;

  CREATE INDEX seen_by_time ON seen (seen_at);

  CREATE TABLE counts (
    destination_id TEXT NOT NULL, name TEXT NOT NULL, count INTEGER NOT NULL,
    PRIMARY KEY (destination_id, name)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE suppressions (
    user_id TEXT NOT NULL, source_id TEXT NOT NULL,
    PRIMARY KEY (user_id, source_id)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE regulations (
    number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, type TEXT NOT NULL, source_ids TEXT,
    created_at INTEGER NOT NULL, finished_at INTEGER, last_id INTEGER NOT NULL,
    last_notification_id INTEGER NOT NULL,
    stage TEXT NOT NULL CHECK (stage IN ('deliveries', 'left', 'seen', 'members', 'traces',
      'notifications', 'last traces', 'done')),
    at_key TEXT NOT NULL, at_id INTEGER NOT NULL, is_store_erased INTEGER NOT NULL,
    erased_pending INTEGER NOT NULL, erased_settled INTEGER NOT NULL,
    erased_members INTEGER NOT NULL, archive TEXT, streams TEXT NOT NULL
  ) STRICT;

  CREATE INDEX regulations_unfinished ON regulations (number) WHERE finished_at IS NULL;

  CREATE TABLE regulation_users (
    number INTEGER NOT NULL, user_id TEXT NOT NULL, place INTEGER NOT NULL,
    PRIMARY KEY (number, user_id)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE regulation_left (
    number INTEGER NOT NULL, destination_id TEXT NOT NULL, delivery_id INTEGER NOT NULL,
    PRIMARY KEY (number, destination_id, delivery_id)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE audiences (
    id INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL UNIQUE, name TEXT NOT NULL,
    class TEXT NOT NULL CHECK (class IN ('audience', 'trait')),
    computation_id TEXT NOT NULL, source_id TEXT NOT NULL, members INTEGER NOT NULL,
    numbers INTEGER NOT NULL, created_at INTEGER NOT NULL, synced_at INTEGER, sync INTEGER
  ) STRICT;
${sharedTables}
  CREATE TABLE moves (
    store_id TEXT PRIMARY KEY, changes INTEGER NOT NULL, target TEXT
  ) STRICT, WITHOUT ROWID;
`

/**
 * Returns the CHECK condition that a column has one of these values. Avoids `IN`, for which SQLite would build a
 * tree for every row: an insert would take 1.5 times as long.
 */
function oneOf(column: string, ...values: readonly string[]): string {
  return values.map((value) => `${column} = '${value}'`).join(' OR ')
}
