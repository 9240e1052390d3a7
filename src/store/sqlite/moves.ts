import { unusable } from '../store-errors.ts'
import type { Database } from './database.ts'

/** The state of a move to another engine. */
export interface Move {
  /** The id of the store in the other engine. */
  readonly storeId: string
  /** How many times a process has begun to write to the store since the move began. */
  readonly changes: number
  /** The new place of the store, without a password; null until it has moved. */
  readonly target: string | null
}

/** Reads the move of the store; undefined if none has begun. */
export function readMove(database: Database): Move | undefined {
  const sql = 'SELECT store_id AS storeId, changes, target FROM moves'
  return database.prepare(sql).get() as Move | undefined
}

/**
 * Refuses to write to a store that has moved. Counts a change if a move has begun.
 *
 * @throws EvrouteError `store_unusable` for a store that has moved
 */
export function beginChanges(database: Database, path: string): void {
  const target = readMove(database)?.target ?? null
  if (target === null) {
    database.exec('UPDATE moves SET changes = changes + 1')
    return
  }
  throw unusable(
    `Cannot deliver from ${path} or change it: it has been moved to ${target}`,
    'Use that store instead; this file can still be read.',
  )
}
