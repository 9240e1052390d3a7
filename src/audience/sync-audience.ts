import type { Row } from '../importer/index.ts'
import type { Destination } from '../model/index.ts'
import type { Runtime } from '../runtime/index.ts'
import type { Audience, MembershipChange, NewAudience } from './audience.ts'
import type { AudienceStore } from './store-port.ts'

/** Which fields, or columns, of a row say what. */
export interface MemberColumns {
  /** Those with userIds; `userId`, `user_id` or `id` where none is named. */
  readonly userIds: readonly string[]
  /** The one with the value of a computed trait; `value` where none is named. */
  readonly value: string | undefined
}

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

/** Is told what a sync does. */
export interface SyncListener {
  /** A row cannot be used. */
  rejected(row: RejectedRow): void
  /** What changed for some members; each is known once it is stored. */
  changed(changes: readonly MembershipChange[]): void
  /** What was done so far. */
  progress(counts: SyncCounts): void
}

/** What an audience is synced with. */
export interface SyncOptions {
  /** Where audiences are kept. */
  readonly store: AudienceStore
  /** The audience. */
  readonly audience: NewAudience
  /** Where its calls may go. */
  readonly destinations: readonly Destination[]
  /** The list: the rows of a file. */
  readonly rows: AsyncIterable<readonly Row[]>
  /** What its rows are made of. */
  readonly columns: MemberColumns
  /** Is told what happens. */
  readonly listener: SyncListener
  /**
   * Called before every part: resolves with true once more deliveries may wait, with false when the
   * sync is to end.
   */
  readonly hasRoom: () => Promise<boolean>
  /** For how long messageIds are remembered. */
  readonly dedupeWindowMs: number
  /** Clock, ids and log. */
  readonly runtime: Runtime
  /** Ends the sync early: what was stored stays, and the next one goes on from there. */
  readonly signal: AbortSignal
}

/**
 * What became of a sync.
 *
 * - `synced`: members are those of the list
 * - `incomplete`: rows were rejected, so nobody left: who those rows are about is not known
 * - `ended`: it was ended early
 * - `superseded`: another sync of the audience began meanwhile
 * - `taken`: the key is that of another source or class
 */
export type SyncOutcome =
  | {
      readonly kind: 'synced' | 'incomplete' | 'ended' | 'superseded'
      readonly audience: Audience
      readonly counts: SyncCounts
    }
  | { readonly kind: 'taken'; readonly audience: Audience }

/**
 * Makes the members of an audience those of a list, and sends an identify call for each identifier for
 * which something changes; in constant memory, however long the list is.
 *
 * @throws whatever makes the list unreadable or the store unusable; what was stored stays
 */
export function syncAudience(options: SyncOptions): Promise<SyncOutcome> {
  return Promise.reject(new Error(`not built ${options.audience.key}`))
}
