/** The tables of the first release: what is in a file whose `user_version` is 1. */
export const firstTables = `
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
    state TEXT NOT NULL CHECK (state IN ('pending', 'delivered', 'failed', 'expired')),
    lane TEXT NOT NULL CHECK (lane IN ('first', 'retry', 'manual')),
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
    outcome TEXT NOT NULL CHECK (outcome IN ('success', 'retry', 'final')),
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
`
