/**
 * The step that makes the table of the move from another engine: a row, once one has begun.
 *
 * - `moves`: `store_id` is the store that moves in, and `changes` how it stood when it was read. The last
 *   page that was written is of rows of a `kind`, up to `position`. Until `completed_at` nobody else may
 *   use the database
 */
export const moveTables: readonly string[] = [
  `CREATE TABLE evroute_moves (
    store_id text COLLATE "C" PRIMARY KEY,
    changes bigint NOT NULL,
    kind text COLLATE "C",
    position text COLLATE "C",
    completed_at bigint
  )`,
]

/** What a statement of anybody else ends with until a move is complete: an SQLSTATE of our own. */
export const moveOpenCode = 'ZM001'

const guard = 'evroute_refuse_writers'

/** Lets the transaction write beside {@link guardStatements}: first in each of a move. */
export const passGuard: string = "SELECT set_config('evroute.moves', 'yes', true)"

/**
 * Lets nobody but the move write to tables, from the end of the transaction on: neither who opened the
 * store before the move began, nor who comes without opening it. Waits for whoever is writing.
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

/** Lets everybody write again. */
export const dropGuard: string = `DROP FUNCTION IF EXISTS ${guard} CASCADE`
