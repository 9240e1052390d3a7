import { givenRows, rowsOf, run, type Dialect, type Script } from '../sql.ts'
import { isOfSources } from '../suppressions.ts'
import { fromStored } from '../stored-text.ts'
import { userKey } from './audience-rows.ts'

interface SourceRow {
  readonly id: number
  readonly source_id: string
}

/**
 * Removes users from the audiences of some sources (null for all), without sending calls.
 *
 * @returns the number of members that were removed
 */
export function* eraseMembers(
  {
    userIds,
    sourceIds,
  }: { readonly userIds: readonly string[]; readonly sourceIds: readonly string[] | null },
  dialect: Dialect,
): Script<number> {
  const { forUpdate, given, isOneOf, key } = dialect
  const sql = 'SELECT id, source_id FROM evroute_audiences'
  const audiences = yield* rowsOf<SourceRow>({ name: 'audience_sources', sql, values: [] })
  const wanted = audiences.filter((row) => isOfSources(fromStored(row.source_id), sourceIds))
  if (wanted.length === 0 || userIds.length === 0) return 0
  const givenIds = `SELECT given.id FROM ${given('$1', { id: 'bigint' })}`
  const wantedAudience = (column: string): string => isOneOf(column, givenIds)
  const ids = givenRows(wanted.map(({ id }) => ({ id })))
  // Lock the audiences, so that no sync adds one of these users until the transaction ends.
  yield* run({
    name: 'hold_audiences',
    sql: `SELECT id FROM evroute_audiences WHERE ${wantedAudience('id')} ORDER BY id ${forUpdate}`,
    values: [ids],
  })
  const keys = userIds.map((userId) => ({ user_key: userKey(userId, dialect) }))
  const givenUsers = `SELECT ${key('given.user_key')} FROM ${given('$2', { user_key: 'text' })}`
  const erasedUser = isOneOf('user_key', givenUsers)
  const gone = yield* rowsOf<{ readonly audience_id: number }>({
    name: 'erase_members',
    sql: `DELETE FROM evroute_members WHERE ${wantedAudience('audience_id')} AND ${erasedUser}
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
