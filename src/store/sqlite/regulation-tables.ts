/**
 * The step that makes the tables of regulations.
 *
 * - `suppressions`: whose calls are dropped, and from which source; '' stands for all of them
 * - `regulations`: each with how far its erasure has come. It is about deliveries up to `last_id`; its
 *   notifications have the ids behind it up to `last_notification_id`. `stage` is what is next, and
 *   `at_key` and `at_id` tell what was the last that was looked at in it. `streams` is how its
 *   notifications stood when it was made, or once it is finished when it was
 * - `regulation_users`: whom it is about; `place` keeps their order
 * - `regulation_left`: deliveries that were given out when they were looked at
 */
export const regulationTables = `
  ALTER TABLE deliveries ADD COLUMN previous_id TEXT;

  CREATE TABLE suppressions (
    user_id TEXT NOT NULL,
    source_id TEXT NOT NULL,
    PRIMARY KEY (user_id, source_id)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE regulations (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    type TEXT NOT NULL,
    source_ids TEXT,
    created_at INTEGER NOT NULL,
    finished_at INTEGER,
    last_id INTEGER NOT NULL,
    last_notification_id INTEGER NOT NULL,
    stage TEXT NOT NULL CHECK (stage IN ('deliveries', 'left', 'seen', 'members', 'traces',
      'notifications', 'last traces', 'done')),
    at_key TEXT NOT NULL,
    at_id INTEGER NOT NULL,
    is_store_erased INTEGER NOT NULL,
    erased_pending INTEGER NOT NULL,
    erased_settled INTEGER NOT NULL,
    erased_members INTEGER NOT NULL,
    archive TEXT,
    streams TEXT NOT NULL
  ) STRICT;

  CREATE INDEX regulations_unfinished ON regulations (number) WHERE finished_at IS NULL;

  CREATE TABLE regulation_users (
    number INTEGER NOT NULL,
    user_id TEXT NOT NULL,
    place INTEGER NOT NULL,
    PRIMARY KEY (number, user_id)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE regulation_left (
    number INTEGER NOT NULL,
    destination_id TEXT NOT NULL,
    delivery_id INTEGER NOT NULL,
    PRIMARY KEY (number, destination_id, delivery_id)
  ) STRICT, WITHOUT ROWID;
`
