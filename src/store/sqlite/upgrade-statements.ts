import { memberText, userText } from '../audiences/index.ts'
import { fromStored } from '../stored-text.ts'
import type { Database } from './database.ts'
import { sharedTables } from './tables.ts'

/** The temporary space that the upgrade needs, as a share of the file's size. */
export const upgradeRoom = 0.5

const present = (column: string): string =>
  `CASE ${column} WHEN '' THEN NULL WHEN char(26) THEN '' ELSE ${column} END`

/**
 * Makes the current tables of those of format 8. Members are found by texts, as in PostgreSQL; a first
 * try that succeeded is in the row of its delivery; untried deliveries are found by their lanes.
 */
const upgrade = `
  ALTER TABLE audiences ADD COLUMN sync INTEGER;
  ALTER TABLE members RENAME TO members_before;
  ${sharedTables}
  INSERT INTO members
    SELECT audience_id, user_text_of(user_id, anonymous_id),
      member_text_of(user_id, anonymous_id, email), number, user_id, anonymous_id, email, value
    FROM (SELECT audience_id, number, value, ${present('user_id')} AS user_id,
      ${present('anonymous_id')} AS anonymous_id, ${present('email')} AS email FROM members_before);
  DROP TABLE members_before;
  ALTER TABLE deliveries ADD COLUMN try_url TEXT;
  ALTER TABLE deliveries ADD COLUMN try_at INTEGER;
  ALTER TABLE deliveries ADD COLUMN try_duration REAL;
  ALTER TABLE deliveries ADD COLUMN try_status INTEGER;
  ALTER TABLE deliveries ADD COLUMN try_excerpt TEXT;
  DROP INDEX deliveries_untried;
`

/** The statements of the upgrade, one by one. */
export const upgradeStatements: readonly string[] = upgrade
  .split(/;\s*\n/)
  .filter((statement) => statement.trim() !== '')

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
