import { givenRows, rowsOf, run, type Dialect, type Script } from '../sql/index.ts'
import { isOfSources } from '../source-scope.ts'
import { fromStored } from '../stored-text.ts'
import { userKey } from './member-identity.ts'

interface SourceRow {
  readonly id: number
  readonly source_id: string
}

/**
 * Removes users from the audiences of some sources, or of all where those are null. No call is made of it.
 *
 * @returns how many members went
 */
export function* eraseMembers(
  {
    userIds,
    sourceIds,
  }: { readonly userIds: readonly string[]; readonly sourceIds: readonly string[] | null },
  { bytes, forUpdate, given }: Dialect,
): Script<number> {
  const sql = 'SELECT id, source_id FROM evroute_audiences'
  const audiences = yield* rowsOf<SourceRow>({ name: 'audience_sources', sql, values: [] })
  const wanted = audiences.filter((row) => isOfSources(fromStored(row.source_id), sourceIds))
  if (wanted.length === 0 || userIds.length === 0) return 0
  const ids = givenRows(wanted.map(({ id }) => ({ id })))
  // Until the end of the transaction no sync writes a member of theirs.
  yield* run({
    name: 'hold_audiences',
    sql: `SELECT id FROM evroute_audiences WHERE id IN (SELECT given.id FROM ${given('$1', { id: 'bigint' })})
      ORDER BY id ${forUpdate}`,
    values: [ids],
  })
  const keys = userIds.map((userId) => ({ user_key: userKey({ userId, anonymousId: null }) }))
  const gone = yield* rowsOf<{ readonly audience_id: number }>({
    name: 'erase_members',
    sql: `DELETE FROM evroute_members WHERE (audience_id, user_key) IN (
        SELECT audience.id, erased.user_key
        FROM (SELECT given.id FROM ${given('$1', { id: 'bigint' })}) audience
        CROSS JOIN (SELECT ${bytes('given.user_key')} AS user_key
          FROM ${given('$2', { user_key: 'text' })}) erased)
      RETURNING audience_id`,
    values: [ids, givenRows(keys)],
  })
  const counts = new Map<number, number>()
  for (const { audience_id: id } of gone) counts.set(id, (counts.get(id) ?? 0) + 1)
  for (const [id, count] of counts) {
    const sql = 'UPDATE evroute_audiences SET members = members - $2 WHERE id = $1'
    yield* run({ name: 'count_left', sql, values: [id, count] })
  }
  return gone.length
}
