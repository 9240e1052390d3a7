import type { RegulationType } from '../model/index.ts'

/** A regulation before it is stored. */
export interface NewRegulation {
  /** Identifies it. */
  readonly id: string
  /** What it does. */
  readonly type: RegulationType
  /** The ids of the users that it is about, each once. */
  readonly userIds: readonly string[]
  /** The sources that it is about; null for all, those that come later too. */
  readonly sourceIds: readonly string[] | null
}

/** What of a store was erased. */
export interface ErasedCounts {
  /** Deliveries that waited and are `failed` with the reason `erased` now. */
  readonly pending: number
  /** Deliveries that had come to their end: their texts and the answers to them are gone. */
  readonly settled: number
  /** Memberships in audiences and values of computed traits. */
  readonly members: number
}

/** What of archives was erased. */
export interface ArchiveErasure {
  /** Events that were taken out. */
  readonly events: number
  /** Files that were written anew, or removed. */
  readonly files: number
  /** What could not be read or written, in words; what is in it may be about the users. */
  readonly problems: readonly string[]
}

/** The notifications of a regulation from one source to one destination. */
export interface NotificationStream {
  /** The source. */
  readonly sourceId: string
  /** The destination. */
  readonly destinationId: string
  /** How they stand. */
  readonly pending: number
  readonly delivered: number
  readonly failed: number
  readonly expired: number
}

/** A regulation as it is kept. */
export interface Regulation extends NewRegulation {
  /** When it was stored, in milliseconds since 1970. */
  readonly createdAtMs: number
  /** When nothing was left to do for it, in milliseconds since 1970; null before. */
  readonly finishedAtMs: number | null
  /** Whether nothing is left to be erased in the store; notifications may still be under way. */
  readonly isStoreErased: boolean
  /** What of the store was erased so far. */
  readonly erased: ErasedCounts
  /** What of archives was erased; null before it was. */
  readonly archive: ArchiveErasure | null
  /** The archives of other processes, by name, that may still have something; none by default. */
  readonly archivesLeft?: readonly string[] | undefined
  /** Its notifications: one stream for each source and destination that has some. */
  readonly streams: readonly NotificationStream[]
}

/** How a regulation stands as a whole, in the words of the same API. */
export type OverallStatus = 'INITIALIZED' | 'RUNNING' | 'FINISHED' | 'PARTIAL_SUCCESS' | 'FAILED'
