import { oneOf } from './one-of.ts'

/**
 * The step that keys deliveries and their requests by their ids alone. With the destination in front, the
 * rows of a commit lay on as many pages of each table as it had destinations.
 *
 * - `deliveries`: one index holds what waits, in the order it is due, two what came to its end, in the
 *   order it did, and one what each destination has
 * - `requests`: without the destination, which their delivery has
 *
 * An erasure that is under way begins its walk through the deliveries anew, and a move to another engine
 * begins anew: what they had reached is a place in the order of before.
 */
export const numberedTables: string = `
  DROP INDEX deliveries_waiting;
  DROP INDEX deliveries_ended;
  ALTER TABLE deliveries RENAME TO deliveries_before;
  ALTER TABLE requests RENAME TO requests_before;

  CREATE TABLE deliveries (
    id INTEGER PRIMARY KEY,
    destination_id TEXT NOT NULL,
    source_id TEXT NOT NULL,
    message_id TEXT NOT NULL,
    type TEXT NOT NULL,
    user_id TEXT,
    previous_id TEXT,
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
    manual_retries INTEGER NOT NULL
  ) STRICT;

  INSERT INTO deliveries (id, destination_id, source_id, message_id, type, user_id, previous_id,
      body_id, state, lane, accepted_at, due_at, attempts, window_attempts, first_attempt_at,
      expires_at, holds, reason, settled_at, manual_retries)
    SELECT id, destination_id, source_id, message_id, type, user_id, previous_id,
      body_id, state, lane, accepted_at, due_at, attempts, window_attempts, first_attempt_at,
      expires_at, holds, reason, settled_at, manual_retries
    FROM deliveries_before ORDER BY id;

  CREATE INDEX deliveries_waiting ON deliveries (destination_id, lane, due_at, id)
    WHERE state = 'pending';

  CREATE INDEX deliveries_delivered ON deliveries (settled_at) WHERE state = 'delivered';

  CREATE INDEX deliveries_failed ON deliveries (destination_id, state, settled_at)
    WHERE state = 'failed' OR state = 'expired';

  CREATE INDEX deliveries_listed ON deliveries (destination_id, id);

  CREATE TABLE requests (
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
    PRIMARY KEY (delivery_id, id)
  ) STRICT, WITHOUT ROWID;

  INSERT INTO requests
    SELECT delivery_id, id, attempt, lane, url, at, duration, outcome, status, error, excerpt
    FROM requests_before ORDER BY delivery_id, id;

  DROP TABLE deliveries_before;
  DROP TABLE requests_before;

  DELETE FROM regulation_left
    WHERE number IN (SELECT number FROM regulations WHERE stage = 'deliveries');
  UPDATE regulations SET at_key = '', at_id = 0 WHERE stage IN ('deliveries', 'notifications');
  UPDATE moves SET changes = changes + 1 WHERE target IS NULL;
`
