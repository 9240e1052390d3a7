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
