import type { RegulationType } from '../model/index.ts'

/** A regulation before it is stored. */
export interface NewRegulation {
  readonly id: string
  /** Decides what is erased and suppressed, and whether destinations are notified. */
  readonly type: RegulationType
  /** Without duplicates. */
  readonly userIds: readonly string[]
  /** The affected sources; null for all, including sources that are added later. */
  readonly sourceIds: readonly string[] | null
}

/** Counts of what was erased from a store. */
export interface ErasedCounts {
  /** Pending deliveries that became `failed` with the reason `erased`. */
  readonly pending: number
  /** Ended deliveries that lost their bodies and answers. */
  readonly settled: number
  /** Members, both of audiences and of computed traits. */
  readonly members: number
}

/** Counts of what was erased from archives. */
export interface ArchiveErasure {
  readonly events: number
  /** Files that were rewritten or removed. */
  readonly files: number
  /** Messages about files that could not be read or written, and about released archives: events may be left there. */
  readonly problems: readonly string[]
}

/** The notifications of a regulation from one source to one destination. */
export interface NotificationStream {
  readonly sourceId: string
  readonly destinationId: string
  readonly pending: number
  readonly delivered: number
  readonly failed: number
  readonly expired: number
}

/** A stored regulation, and how far it has got. */
export interface Regulation extends NewRegulation {
  /** When it was stored, in milliseconds since 1970. */
  readonly createdAtMs: number
  /** When it finished, in milliseconds since 1970; null until then. */
  readonly finishedAtMs: number | null
  /** Whether its users are erased from the store, apart from pending notifications. */
  readonly isStoreErased: boolean
  /** Counts of what was erased from the store so far. */
  readonly erased: ErasedCounts
  /** Counts of what was erased from archives so far; null if nothing was done yet. */
  readonly archive: ArchiveErasure | null
  /** Names of other processes' archives that may still contain events of its users; none by default. */
  readonly archivesLeft?: readonly string[] | undefined
  readonly streams: readonly NotificationStream[]
}

/** The overall status of a regulation, as Segment names it. */
export type OverallStatus = 'INITIALIZED' | 'RUNNING' | 'FINISHED' | 'PARTIAL_SUCCESS' | 'FAILED'
