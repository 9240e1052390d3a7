import { memberText, userText } from '../audiences/index.ts'
import type { Database } from './database.ts'
import { fromStored } from '../stored-text.ts'

const present = (column: string): string =>
  `CASE ${column} WHEN '' THEN NULL WHEN char(26) THEN '' ELSE ${column} END`

/**
 * The step after which audiences and regulations have the tables that they have in PostgreSQL.
 *
 * - `audiences`: `sync` is the sync that goes on
 * - `members`: found by texts that tell the user and the member from others; an identifier that is absent is null
 * - `archives`, `regulation_archives`: the archives that regulations wait for
 */
export const sharedTables: string = `
  ALTER TABLE audiences ADD COLUMN sync INTEGER;
  ALTER TABLE members RENAME TO members_before;

  CREATE TABLE members (
    audience_id INTEGER NOT NULL,
    user_key TEXT NOT NULL,
    member_key TEXT NOT NULL,
    number INTEGER NOT NULL,
    user_id TEXT,
    anonymous_id TEXT,
    email TEXT,
    value TEXT NOT NULL,
    PRIMARY KEY (audience_id, user_key, member_key)
  ) STRICT, WITHOUT ROWID;

  INSERT INTO members
    SELECT audience_id, user_text_of(user_id, anonymous_id),
      member_text_of(user_id, anonymous_id, email), number, user_id, anonymous_id, email, value
    FROM (SELECT audience_id, number, value, ${present('user_id')} AS user_id,
      ${present('anonymous_id')} AS anonymous_id, ${present('email')} AS email FROM members_before);

  DROP TABLE members_before;

  CREATE TABLE archives (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE regulation_archives (
    number INTEGER NOT NULL,
    archive_id TEXT NOT NULL,
    PRIMARY KEY (number, archive_id)
  ) STRICT, WITHOUT ROWID;
`

type Identifier = string | null

/** Adds the functions that {@link sharedTables} computes the keys of members with. */
export function addKeyFunctions(database: Database): void {
  const raw = (stored: Identifier): Identifier => (stored === null ? null : fromStored(stored))
  database.function('user_text_of', (userId: Identifier, anonymousId: Identifier) =>
    userText({ userId: raw(userId), anonymousId: raw(anonymousId) }),
  )
  database.function(
    'member_text_of',
    (userId: Identifier, anonymousId: Identifier, email: Identifier) =>
      memberText({ userId: raw(userId), anonymousId: raw(anonymousId), email: raw(email) }),
  )
}
