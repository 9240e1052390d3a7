/**
 * The step that makes the table of a move from another engine. It has one row once a move has begun.
 *
 * - `moves`: `store_id` is the store that moves in, and `changes` its counter of changes when it was
 *   read. The last page that was written has rows of a `kind`, up to `position`. Until `completed_at`
 *   is set, only the move may use the database
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

/** The SQLSTATE of every other write until the move is complete; evroute's own. */
export const moveOpenCode = 'ZM001'

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
