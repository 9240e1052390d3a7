import { isOfSources } from '../source-scope.ts'
import { fromStored } from '../stored-text.ts'
import { userKey } from './audience-identity.ts'
import type { Session } from './database.ts'

interface SourceRow {
  readonly id: number
  readonly source_id: string
}

/** No member of theirs is written meanwhile. */
const holdSql = `
  SELECT id FROM evroute_audiences WHERE id = ANY ($1::bigint[]) ORDER BY id FOR UPDATE`

/** Looked up one by one: how many members an audience has is nothing that a planner knows. */
const eraseSql = `
  WITH gone AS (
    DELETE FROM evroute_members WHERE ctid = ANY (ARRAY(
      SELECT found.place FROM unnest($1::bigint[]) AS audience (id)
      CROSS JOIN unnest($2::text[]) AS erased (user_key)
      CROSS JOIN LATERAL (
        SELECT ctid AS place FROM evroute_members
        WHERE audience_id = audience.id AND user_key = decode(erased.user_key, 'hex') OFFSET 0) found))
    RETURNING audience_id
  ), counts AS (
    SELECT audience_id, count(*) FROM gone GROUP BY audience_id
  ), counted AS (
    UPDATE evroute_audiences SET members = members - counts.count
    FROM counts WHERE id = counts.audience_id
  )
  SELECT count(*) FROM gone`

/**
 * Takes users out of the audiences of some sources, or of all where those are null, and tells nobody.
 *
 * @returns how many members that were
 */
export async function eraseMembers(
  session: Session,
  userIds: readonly string[],
  sourceIds: readonly string[] | null,
): Promise<number> {
  const sql = 'SELECT id, source_id FROM evroute_audiences'
  const audiences = await session.rows<SourceRow>({ name: 'audience_sources', sql, values: [] })
  const ids = audiences
    .filter((audience) => isOfSources(fromStored(audience.source_id), sourceIds))
    .map(({ id }) => id)
  if (ids.length === 0 || userIds.length === 0) return 0
  await session.rows({ name: 'hold_audiences', sql: holdSql, values: [ids] })
  const userKeys = userIds.map((userId) => userKey({ userId, anonymousId: null }))
  const query = { name: 'erase_members', sql: eraseSql, values: [ids, userKeys] }
  const [row] = await session.rows<{ readonly count: number }>(query)
  return row?.count ?? 0
}
