import { EvrouteError } from '../../model/index.ts'
import type { Session } from './database.ts'

/**
 * Checks that no move from another engine into this database is unfinished.
 *
 * @throws EvrouteError `store_unusable` if one is
 */
export async function expectWhole(session: Session): Promise<void> {
  const rows = await session.rows({
    sql: 'SELECT FROM evroute_moves WHERE completed_at IS NULL',
    values: [],
  })
  if (rows.length === 0) return
  throw new EvrouteError({
    code: 'store_unusable',
    message: `Cannot use the store ${session.name}: a migration into it has not ended`,
    hint: 'Run `evroute migrate` again as before.',
  })
}
