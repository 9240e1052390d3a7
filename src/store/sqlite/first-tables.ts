import { oneOf } from './one-of.ts'

/**
 * The step that makes the tables of the first release.
 *
 * - `messages`: the text of a webhook, once however many deliveries of its event have it, with how
 *   many those are
 * - `deliveries`: keyed by the destination; one index holds what waits, in the order it is due, the other what came to its end, in
 *   the order it did
 * - `requests`: what was sent, and how it was answered; `id` orders those of a delivery
 * - `seen`: what deduplication remembers
 * - `counts`: the books and what was purged, per destination; how many ids were given out
 */
export const firstTables: string = `
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
`
