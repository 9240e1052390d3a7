/**
 * The kinds of regulations, with the names of Segment's public API.
 *
 * - `DELETE_ONLY`: erases stored data about the users and notifies destinations
 * - `DELETE_INTERNAL`: the same without the notification
 * - `SUPPRESS_ONLY`: drops later calls of the users
 * - `SUPPRESS_WITH_DELETE`, `SUPPRESS_WITH_DELETE_INTERNAL`: both
 * - `DELETE_ARCHIVE_ONLY`: removes the users' events from archives
 * - `UNSUPPRESS`: accepts later calls again
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

/** The actions of a type. */
export interface RegulationEffects {
  /** Destinations get a delete notification about each user. */
  readonly notifies: boolean
  /** Erases stored data about the users. */
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

/** The actions of each type. */
export function effectsOf(type: RegulationType): RegulationEffects {
  return effects[type]
}
