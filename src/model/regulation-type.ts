/** What a type of regulation does. */
export interface RegulationEffects {
  /** Sends destinations a delete notification about each user. */
  readonly notifies: boolean
  /** Erases stored data about the users. */
  readonly erasesStore: boolean
  /** Removes the users' events from archives. */
  readonly erasesArchives: boolean
  /** `add` drops later calls of the users, `lift` accepts them again, null changes nothing. */
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
 * The types of regulations, named as in Segment's public API.
 *
 * - `DELETE_ONLY`: erases stored data about the users and notifies destinations
 * - `DELETE_INTERNAL`: the same without the notification
 * - `SUPPRESS_ONLY`: drops later calls of the users
 * - `SUPPRESS_WITH_DELETE`, `SUPPRESS_WITH_DELETE_INTERNAL`: both `SUPPRESS_ONLY` and the deletion
 * - `DELETE_ARCHIVE_ONLY`: removes the users' events from archives
 * - `UNSUPPRESS`: accepts later calls again
 */
export type RegulationType = keyof typeof effects

/** All types of regulations, in the order of the documentation. */
export const regulationTypes: readonly RegulationType[] = Object.freeze(
  Object.keys(effects) as RegulationType[],
)

/** Looks up whether a regulation of this type notifies, erases or suppresses. */
export function effectsOf(type: RegulationType): RegulationEffects {
  return effects[type]
}
