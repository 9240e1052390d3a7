/** The actions of a type. */
export interface RegulationEffects {
  /** Destinations get a delete notification about each user. */
  readonly notifies: boolean
  /** Erases stored data about the users. */
  readonly erasesStore: boolean
  /** The users' events are taken out of archives. */
  readonly erasesArchives: boolean
  /** Whether later calls of the users are dropped from now on, or accepted again; null for no change. */
  readonly suppression: 'add' | 'lift' | null
}

const nothing: RegulationEffects = {
  notifies: false,
  erasesStore: false,
  erasesArchives: false,
  suppression: null,
}
const erasure: RegulationEffects = { ...nothing, erasesStore: true, erasesArchives: true }

const effects = {
  SUPPRESS_WITH_DELETE: { ...erasure, notifies: true, suppression: 'add' },
  SUPPRESS_WITH_DELETE_INTERNAL: { ...erasure, suppression: 'add' },
  SUPPRESS_ONLY: { ...nothing, suppression: 'add' },
  DELETE_ONLY: { ...erasure, notifies: true },
  DELETE_INTERNAL: erasure,
  DELETE_ARCHIVE_ONLY: { ...nothing, erasesArchives: true },
  UNSUPPRESS: { ...nothing, suppression: 'lift' },
} satisfies Record<string, RegulationEffects>

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
export type RegulationType = keyof typeof effects

/** All types. */
export const regulationTypes: readonly RegulationType[] = Object.freeze(
  Object.keys(effects) as RegulationType[],
)

/** The actions of each type. */
export function effectsOf(type: RegulationType): RegulationEffects {
  return effects[type]
}
