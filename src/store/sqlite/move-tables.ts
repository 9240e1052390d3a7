/**
 * The step that makes the table of the move to another engine: a row, once a move has begun.
 *
 * - `moves`: `store_id` is what the other engine knows the store by, `changes` counts how often somebody
 *   may have written to the store since, `target` says where it is now, once it is
 */
export const moveTables = `
  CREATE TABLE moves (
    store_id TEXT PRIMARY KEY,
    changes INTEGER NOT NULL,
    target TEXT
  ) STRICT, WITHOUT ROWID;
`
