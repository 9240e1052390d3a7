import { EvrouteError } from '../../model/index.ts'
import type { Session } from './database.ts'
import { moveOpenCode } from './store-error.ts'

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

const guard = 'evroute_refuse_writers'

/**
 * Lets the transaction write in spite of {@link guardStatements}. It is the first statement of each
 * transaction of a move.
 */
export const passGuard: string = "SELECT set_config('evroute.moves', 'yes', true)"

/**
 * Refuses all writes except those of the move, from the end of the transaction on. It also stops
 * processes that opened the store before the move began, and clients that are not evroute. It waits
 * for transactions that are writing.
 */
export function guardStatements(tables: readonly string[]): readonly string[] {
  return [
    `CREATE FUNCTION ${guard}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      RAISE EXCEPTION 'a migration into it has not ended' USING ERRCODE = '${moveOpenCode}';
    END $$`,
    ...tables.map(
      (table) => `CREATE TRIGGER ${guard} BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON ${table}
        FOR EACH STATEMENT WHEN (current_setting('evroute.moves', true) IS DISTINCT FROM 'yes')
        EXECUTE FUNCTION ${guard}()`,
    ),
  ]
}

/** Permits all writes again. */
export const dropGuard: string = `DROP FUNCTION IF EXISTS ${guard} CASCADE`
