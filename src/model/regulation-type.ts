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
