import type { MembershipChange } from './audience.ts'

/** The counts of a sync so far. */
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

/** A row that cannot be used. */
export interface RejectedRow {
  /** Its line in the list. */
  readonly line: number
  /** The stable code of the problem. */
  readonly code: string
  /** The problem as a sentence without a period. */
  readonly message: string
}

/** Receives the events of a sync. */
export interface SyncListener {
  /** Receives a row that cannot be used. */
  rejected(row: RejectedRow): void
  /** Receives changes of members once they are stored. */
  changed(changes: readonly MembershipChange[]): void
  /** Receives the number of stored members that a dry run has read so far. */
  comparing?(members: number): void
  /** Receives the counts so far. */
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
