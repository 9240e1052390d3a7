/**
 * What a regulation does; the names are those of the public API of the field's first product.
 *
 * - `DELETE_ONLY`: what is kept about the users is erased, and destinations are told
 * - `DELETE_INTERNAL`: the same, and destinations are not told
 * - `SUPPRESS_ONLY`: later calls of the users are dropped
 * - `SUPPRESS_WITH_DELETE`, `SUPPRESS_WITH_DELETE_INTERNAL`: both
 * - `DELETE_ARCHIVE_ONLY`: the users' events are taken out of archives
 * - `UNSUPPRESS`: later calls are accepted again
 */
export type RegulationType =
  | 'SUPPRESS_WITH_DELETE'
  | 'SUPPRESS_WITH_DELETE_INTERNAL'
  | 'SUPPRESS_ONLY'
  | 'DELETE_ONLY'
  | 'DELETE_INTERNAL'
  | 'DELETE_ARCHIVE_ONLY'
  | 'UNSUPPRESS'

/** All types. */
export const regulationTypes: readonly RegulationType[] = Object.freeze([
  'SUPPRESS_WITH_DELETE',
  'SUPPRESS_WITH_DELETE_INTERNAL',
  'SUPPRESS_ONLY',
  'DELETE_ONLY',
  'DELETE_INTERNAL',
  'DELETE_ARCHIVE_ONLY',
  'UNSUPPRESS',
] as const)

/** What a type asks for. */
export interface RegulationEffects {
  /** Destinations get a delete notification about each user. */
  readonly notifies: boolean
  /** What the store keeps about the users is erased. */
  readonly erasesStore: boolean
  /** The users' events are taken out of archives. */
  readonly erasesArchives: boolean
  /** Later calls of the users are dropped, or are not any more; null where that stays as it is. */
  readonly suppression: 'add' | 'lift' | null
}

const nothing: RegulationEffects = {
  notifies: false,
  erasesStore: false,
  erasesArchives: false,
  suppression: null,
}
const erasure: RegulationEffects = { ...nothing, erasesStore: true, erasesArchives: true }

const effects: Readonly<Record<RegulationType, RegulationEffects>> = {
  SUPPRESS_WITH_DELETE: { ...erasure, notifies: true, suppression: 'add' },
  SUPPRESS_WITH_DELETE_INTERNAL: { ...erasure, suppression: 'add' },
  SUPPRESS_ONLY: { ...nothing, suppression: 'add' },
  DELETE_ONLY: { ...erasure, notifies: true },
  DELETE_INTERNAL: erasure,
  DELETE_ARCHIVE_ONLY: { ...nothing, erasesArchives: true },
  UNSUPPRESS: { ...nothing, suppression: 'lift' },
}

/** What a type asks for. */
export function effectsOf(type: RegulationType): RegulationEffects {
  return effects[type]
}

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
