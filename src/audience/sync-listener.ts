import type { MembershipChange } from './audience.ts'

/** What a sync has done so far. */
export interface SyncCounts {
  /** Rows that were read. */
  readonly read: number
  /** Rows that name no member, or contradict an earlier row. */
  readonly rejected: number
  /** Identifiers that entered. */
  readonly entered: number
  /** Identifiers whose value changed. */
  readonly changed: number
  /** Identifiers that left. */
  readonly left: number
  /** Identifiers that stayed as they were. */
  readonly unchanged: number
  /** Identifiers of suppressed users, for which nothing is stored or sent. */
  readonly suppressed: number
}

/** A row of a list that cannot be used. */
export interface RejectedRow {
  /** Its line in the list, from 1. */
  readonly line: number
  /** A stable code. */
  readonly code: string
  /** The problem as a sentence without a period. */
  readonly message: string
}

/** Receives reports from a sync, a removal or a dry run. */
export interface SyncListener {
  /** Called with each row that cannot be used. */
  rejected(row: RejectedRow): void
  /** Called with changes once they are stored. */
  changed(changes: readonly MembershipChange[]): void
  /** Called with the number of stored members that a dry run has read so far. */
  comparing?(members: number): void
  /** Called with the counts so far. */
  progress(counts: SyncCounts): void
}

/** The counts at the beginning of a sync. */
export const noSyncCounts: SyncCounts = {
  read: 0,
  rejected: 0,
  entered: 0,
  changed: 0,
  left: 0,
  unchanged: 0,
  suppressed: 0,
}
