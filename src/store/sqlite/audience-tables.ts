/**
 * The step that makes the tables of audiences.
 *
 * - `audiences`: `members` counts who is in it, `numbers` how many numbers it has given out
 * - `members`: who is in an audience, or has a value of a computed trait; '' stands for an identifier
 *   that is absent. No two members that an audience ever had have the same `number`
 */
export const audienceTables = `
  CREATE TABLE audiences (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    key TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    class TEXT NOT NULL CHECK (class IN ('audience', 'trait')),
    computation_id TEXT NOT NULL,
    source_id TEXT NOT NULL,
    members INTEGER NOT NULL,
    numbers INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    synced_at INTEGER
  ) STRICT;

  CREATE TABLE members (
    audience_id INTEGER NOT NULL,
    user_id TEXT NOT NULL,
    anonymous_id TEXT NOT NULL,
    email TEXT NOT NULL,
    number INTEGER NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (audience_id, user_id, anonymous_id, email)
  ) STRICT, WITHOUT ROWID;
`
