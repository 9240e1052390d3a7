import type { Move } from '../sqlite/moves.ts'
import type { RowPlace } from './row-kind.ts'

/** Up to where rows are written: those of the kinds before, and of a kind up to a place. */
export interface Reached {
  /** The kind; null before the first page. */
  readonly kind: string | null
  /** The last row; null before the first page. */
  readonly place: RowPlace | null
}

/**
 * How a database stands that a store is to move to.
 *
 * - `begun`: the move goes on behind what it has reached; `isAnew` where what was written was of no use,
 *   because the store was changed since
 * - `completed`: the store is here already
 */
export type BegunImport =
  | { readonly kind: 'begun'; readonly reached: Reached; readonly isAnew: boolean }
  | { readonly kind: 'completed' }

/** The row of a move that has begun. */
export interface MoveRow {
  readonly store_id: string
  readonly changes: number
  readonly kind: string | null
  readonly position: string | null
  readonly completed_at: number | null
}

/** A database that nothing was written to. */
export const nothingReached: BegunImport & { readonly kind: 'begun' } = Object.freeze({
  kind: 'begun',
  reached: Object.freeze({ kind: null, place: null }),
  isAnew: false,
})

/**
 * What a move that has begun means for the one that is to be made.
 *
 * @param move - how the store stands; undefined where it never began to move
 */
export function standingOf(
  known: MoveRow,
  move: Move | undefined,
): BegunImport | { readonly kind: 'refused'; readonly why: string } {
  const isCompleted = known.completed_at !== null
  if (known.store_id !== move?.storeId) {
    const why = isCompleted
      ? 'another store was moved there'
      : 'the migration of another store into it has not ended'
    return { kind: 'refused', why }
  }
  if (known.changes === move.changes) {
    return isCompleted
      ? { kind: 'completed' }
      : { kind: 'begun', reached: reachedOf(known), isAnew: false }
  }
  return isCompleted
    ? { kind: 'refused', why: 'it has the store as it was before somebody changed the file' }
    : { ...nothingReached, isAnew: true }
}

function reachedOf({ kind, position }: MoveRow): Reached {
  return { kind, place: position === null ? null : (JSON.parse(position) as RowPlace) }
}
