import type { NewEvent } from '../delivery/index.ts'
import { deletionEvent, planEvent } from '../intake/index.ts'
import {
  effectsOf,
  limits,
  segmentId,
  SettingError,
  type Destination,
  type RegulationType,
} from '../model/index.ts'
import type { NewRegulation } from './regulation.ts'

/** Maximum number of distinct users in a regulation. */
export const regulationUsersMax = 5_000

/** A request for a new regulation. */
export interface RegulationRequest {
  readonly type: RegulationType
  /** Duplicates count once. */
  readonly userIds: readonly string[]
  /** Null for all sources. */
  readonly sourceIds: readonly string[] | null
}

/** A request, and the configuration that it applies to. */
export interface RegulationPlanOptions extends RegulationRequest {
  readonly sources: readonly { readonly id: string }[]
  readonly destinations: readonly Destination[]
  /** The time of the request and its notifications, in milliseconds since 1970. */
  readonly nowMs: number
  /** Makes the UUID from which the regulation's id is derived. */
  readonly newId: () => string
}

/** A regulation to store, with its notifications. */
export interface PlannedRegulation {
  readonly regulation: NewRegulation
  readonly notifications: readonly NewEvent[]
}

/** Says that a request names a source that does not exist. */
export interface UnknownSource {
  readonly kind: 'unknown_source'
  readonly knownIds: readonly string[]
}

/** A plan, or why the request is refused. */
export type RegulationPlan = ({ readonly kind: 'planned' } & PlannedRegulation) | UnknownSource

/**
 * Plans a regulation and its notifications: for each user, one event per affected source with enabled destinations.
 * Throws SettingError if the list of users or sources is empty, if there are too many users, or if an id is too long.
 */
export function planRegulation(options: RegulationPlanOptions): RegulationPlan {
  const { type, newId } = options
  const userIds = [...new Set(options.userIds)]
  checkUsers(options.userIds, userIds.length)
  const sourceIds = options.sourceIds === null ? null : [...new Set(options.sourceIds)]
  if (sourceIds?.length === 0) {
    const message = 'Cannot create a regulation with an empty list of sources'
    throw new SettingError('sourceIds', message)
  }
  const knownIds = options.sources.map(({ id }) => id)
  if (sourceIds?.some((id) => !knownIds.includes(id)) === true) {
    return { kind: 'unknown_source', knownIds }
  }
  const regulation = { id: segmentId('reg', newId()), type, userIds, sourceIds }
  const notifications = effectsOf(type).notifies ? notificationsOf(regulation, options) : []
  return { kind: 'planned', regulation, notifications }
}

function checkUsers(userIds: readonly string[], users: number): void {
  if (users === 0) {
    throw new SettingError('userIds', 'Cannot create a regulation without a user id')
  }
  // No call has a longer id.
  const lengthMax = limits.callBytesMax
  const invalid = userIds.findIndex(({ length }) => length === 0 || length > lengthMax)
  if (invalid !== -1) {
    const message = `Cannot use user id ${invalid + 1}: it must have 1 to ${lengthMax} characters`
    throw new SettingError('userIds', message)
  }
  if (users > regulationUsersMax) {
    const message = `Cannot create a regulation for ${users} users: at most ${regulationUsersMax} are allowed`
    throw new SettingError('userIds', message)
  }
}

/** Makes the notifications user by user, so that no source waits for all notifications of the others. */
function notificationsOf(
  { id, userIds, sourceIds }: NewRegulation,
  { sources, destinations, nowMs }: RegulationPlanOptions,
): readonly NewEvent[] {
  const enabled = destinations.filter((each) => each.enabled)
  const affected = (sourceIds ?? sources.map((source) => source.id))
    .map((sourceId) => ({
      sourceId,
      connected: enabled.filter((each) => each.sourceIds.includes(sourceId)),
    }))
    .filter(({ connected }) => connected.length > 0)
  let count = 0
  const newId = (): string => `${id}/${++count}`
  return userIds.flatMap((userId) =>
    affected.map(({ sourceId, connected }): NewEvent => {
      const event = deletionEvent({ userId }, { sourceId, receivedAtMs: nowMs, newId })
      const { deliveries } = planEvent(event, connected)
      return { sourceId, messageId: event.messageId, type: event.type, userId, deliveries }
    }),
  )
}
