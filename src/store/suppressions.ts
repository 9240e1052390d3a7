import { raw, run, sql, type Dialect, type Script, type Sql } from './sql.ts'
import { toStored } from './stored-text.ts'

/** The stored source of a suppression that applies to every source. */
const everySource = ''

/** Users whose calls are dropped. `sourceIds` is null for all sources. */
export interface SuppressedUsers {
  readonly userIds: readonly string[]
  readonly sourceIds: readonly string[] | null
}

const pairColumns = { user_id: 'text', source_id: 'text' } as const

/**
 * Returns the condition that a user's calls from a source are dropped. A suppression also applies to replays of its
 * source. It begins with a check that a statement makes only once, which saves time while no user is suppressed.
 *
 * @param userId - an expression; qualify a column with its table
 */
export function isSuppressed(sourceId: Sql, userId: Sql): Sql {
  return sql`(EXISTS (SELECT 1 FROM evroute_suppressions) AND EXISTS (
    SELECT 1 FROM evroute_suppressions dropped
    WHERE dropped.user_id = ${userId} AND (dropped.source_id IN (${raw(`'${everySource}'`)}, ${sourceId})
      OR substr(${sourceId}, 1, length(dropped.source_id) + 1) = dropped.source_id || '/')))`
}

/** Adds suppressions. Leaves existing ones as they are. */
export function suppress(users: SuppressedUsers, { given }: Dialect): Script<void> {
  return run(sql`
    INSERT INTO evroute_suppressions (user_id, source_id)
    SELECT given.user_id, given.source_id FROM ${given(pairsOf(users), pairColumns)}
    WHERE NOT EXISTS (SELECT 1 FROM evroute_suppressions known
      WHERE known.user_id = given.user_id AND known.source_id = given.source_id)`)
}

/** Ends suppressions of users, for all sources or for some. */
export function lift(users: SuppressedUsers, { given }: Dialect): Script<void> {
  const pairs = given(pairsOf(users), pairColumns)
  if (users.sourceIds === null) {
    return run(sql`DELETE FROM evroute_suppressions
      WHERE user_id IN (SELECT given.user_id FROM ${pairs})`)
  }
  return run(sql`DELETE FROM evroute_suppressions WHERE (user_id, source_id) IN (
    SELECT given.user_id, given.source_id FROM ${pairs})`)
}

function pairsOf({ userIds, sourceIds }: SuppressedUsers): readonly object[] {
  const stored = sourceIds?.map(toStored) ?? [everySource]
  return userIds.flatMap((userId) =>
    stored.map((sourceId) => ({ user_id: toStored(userId), source_id: sourceId })),
  )
}

/** Tells whether a source is in a list. A replay, `<source>/<anything>`, counts as its source; null means all. */
export function isOfSources(sourceId: string, sourceIds: readonly string[] | null): boolean {
  return sourceIds?.some((id) => sourceId === id || sourceId.startsWith(`${id}/`)) ?? true
}
