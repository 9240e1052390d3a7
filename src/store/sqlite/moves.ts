import { unusable } from '../store-errors.ts'
import type { Database } from './database.ts'

/** The mark of a store that has moved to another engine. */
export interface Move {
  /** The id of the store in the other engine. */
  readonly storeId: string
  /** The new place of the store, without a password. */
  readonly target: string
}

/** Reads the mark of a store that has moved; undefined if it has not. */
export function readMove(database: Database): Move | undefined {
  // Earlier versions stored a row without a target when a move began.
  const sql = 'SELECT store_id AS storeId, target FROM moves WHERE target IS NOT NULL'
  return database.prepare(sql).get() as Move | undefined
}

/** Marks a store as moved. */
export function markMoved(database: Database, { storeId, target }: Move): void {
  database.exec('DELETE FROM moves')
  database.prepare('INSERT INTO moves VALUES (?, 0, ?)').run(storeId, target)
}

/**
 * Refuses to write to a store that has moved.
 *
 * @throws EvrouteError `store_unusable` for a store that has moved
 */
export function expectNotMoved(database: Database, path: string): void {
  const move = readMove(database)
  if (move === undefined) return
  throw unusable(
    `Cannot deliver from ${path} or change it: it has been moved to ${move.target}`,
    'Use that store instead; this file can still be read. If `evroute migrate` was interrupted, run it again first.',
  )
}
