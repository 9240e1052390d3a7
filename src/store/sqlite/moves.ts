import { unusable } from '../store-errors.ts'
import type { Database } from './database.ts'

/** The mark in a file whose store has moved to a different engine. */
export interface Move {
  /** The id of the store in the new engine. */
  readonly storeId: string
  /** The name of the new database, without a password. */
  readonly target: string
}

/** Reads the mark of a moved store; undefined if the store has not moved. */
export function readMove(database: Database): Move | undefined {
  // Earlier versions stored a row without a target when a move began.
  const sql = 'SELECT store_id AS storeId, target FROM moves WHERE target IS NOT NULL'
  return database.prepare(sql).get() as Move | undefined
}

/** Marks a store as moved, so that no process delivers from it any more. */
export function markMoved(database: Database, { storeId, target }: Move): void {
  database.exec('DELETE FROM moves')
  database.prepare('INSERT INTO moves VALUES (?, 0, ?)').run(storeId, target)
}

/** @throws EvrouteError `store_unusable` if the store has moved: this file may only be read */
export function expectNotMoved(database: Database, path: string): void {
  const move = readMove(database)
  if (move === undefined) return
  throw unusable(
    `Cannot deliver from ${path} or change it: it has been moved to ${move.target}`,
    'Use that store instead; this file can still be read. If `evroute migrate` was interrupted, run it again first.',
  )
}
