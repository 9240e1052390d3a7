import type { MembershipChange } from './audience.ts'

/** The counts at the beginning of a sync. */
export const noSyncCounts = {
  /** Rows that were read. */
  read: 0,
  /** Rows that name no member, or contradict an earlier row. */
  rejected: 0,
  /** Identifiers that this sync added to the audience. */
  entered: 0,
  /** Identifiers whose value changed. */
  changed: 0,
  /** Users that this sync removed from the audience. */
  left: 0,
  /** Identifiers that stayed as they were. */
  unchanged: 0,
  /** Identifiers of suppressed users, for which nothing is stored or sent. */
  suppressed: 0,
}

/** What a sync has done so far. */
export type SyncCounts = Readonly<typeof noSyncCounts>

/** A row of a list that cannot be used. */
export interface RejectedRow {
  /** Its line in the list, from 1. */
  readonly line: number
  readonly code: string
  /** The problem as a sentence without a period. */
  readonly message: string
}

/** Receives reports from a sync, a removal or a dry run. */
export interface SyncListener {
  rejected(row: RejectedRow): void
  /** Called with changes once they are stored. */
  changed(changes: readonly MembershipChange[]): void
  /** Called with the number of stored members that a dry run has read so far. */
  comparing?(members: number): void
  progress(counts: SyncCounts): void
}
