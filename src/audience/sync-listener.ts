import type { MembershipChange } from './audience.ts'

/** What a sync has done so far. */
export interface SyncCounts {
  /** Rows that were read. */
  readonly read: number
  /** Of those, rows that name no member, or contradict one before. */
  readonly rejected: number
  /** Identifiers that entered. */
  readonly entered: number
  /** Identifiers whose value changed. */
  readonly changed: number
  /** Identifiers that left. */
  readonly left: number
  /** Identifiers that stayed as they were. */
  readonly unchanged: number
  /** Identifiers of suppressed users, for which nothing is kept or sent. */
  readonly suppressed: number
}

/** A row that cannot be used. */
export interface RejectedRow {
  /** Its line in the list. */
  readonly line: number
  /** A stable name of what is wrong. */
  readonly code: string
  /** What is wrong, as a sentence without its final period. */
  readonly message: string
}

/** Learns what a sync does. */
export interface SyncListener {
  /** A row cannot be used. */
  rejected(row: RejectedRow): void
  /** What changed for some members; each is known once it is stored. */
  changed(changes: readonly MembershipChange[]): void
  /** Only in a dry run: so many members that are kept were read by now, to compare the list with. */
  comparing?(members: number): void
  /** What was done so far. */
  progress(counts: SyncCounts): void
}
