import { memberText, userText } from '../audiences/index.ts'
import { fromStored } from '../stored-text.ts'
import type { Database } from './database.ts'
import { sharedTables } from './tables.ts'

/** A step from one format of a file to the next. */
export interface Upgrade {
  /** The statements; a line break ends each. */
  readonly sql: string
  /**
   * The temporary space that it needs in the log and in the file, as a share of the file's size.
   */
  readonly room: number
}

const present = (column: string): string =>
  `CASE ${column} WHEN '' THEN NULL WHEN char(26) THEN '' ELSE ${column} END`

/** Finds members by texts, as PostgreSQL does. */
const textsOfMembers = `
  ALTER TABLE audiences ADD COLUMN sync INTEGER;
  ALTER TABLE members RENAME TO members_before;
  ${sharedTables}
  INSERT INTO members
    SELECT audience_id, user_text_of(user_id, anonymous_id),
      member_text_of(user_id, anonymous_id, email), number, user_id, anonymous_id, email, value
    FROM (SELECT audience_id, number, value, ${present('user_id')} AS user_id,
      ${present('anonymous_id')} AS anonymous_id, ${present('email')} AS email FROM members_before);
  DROP TABLE members_before;
`

/** Keeps a first try that succeeded in the row of its delivery. */
const firstTries = `
  ALTER TABLE deliveries ADD COLUMN try_url TEXT;
  ALTER TABLE deliveries ADD COLUMN try_at INTEGER;
  ALTER TABLE deliveries ADD COLUMN try_duration REAL;
  ALTER TABLE deliveries ADD COLUMN try_status INTEGER;
  ALTER TABLE deliveries ADD COLUMN try_excerpt TEXT;
`

/** Old deliveries that were never tried are found by their lanes. */
const withoutUntried = `
  DROP INDEX deliveries_untried;
`

/** The oldest format that can be upgraded. */
export const oldestFormat = 8

/** The steps from the oldest format to the current one. A released step never changes. */
export const upgrades: readonly Upgrade[] = [
  { sql: textsOfMembers, room: 0.5 },
  { sql: firstTries, room: 0 },
  { sql: withoutUntried, room: 0 },
]

type Identifier = string | null

/** Adds the functions that the upgrades compute the texts of members with. */
export function addUpgradeFunctions(database: Database): void {
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
