import { createHash } from 'node:crypto'
import type { NewEvent } from '../delivery/index.ts'
import { deletionEvent, planEvent } from '../intake/index.ts'
import { effectsOf, type Destination, type RegulationType } from '../model/index.ts'
import type { NewRegulation } from './regulation.ts'

/** The limits of a regulation. */
export const regulationLimits: {
  /** Maximum number of distinct users in a regulation. */
  readonly usersMax: number
  /** Maximum length of a userId, in UTF-16 code units. */
  readonly userIdLengthMax: number
} = Object.freeze({ usersMax: 5_000, userIdLengthMax: 1_024 })

/** A request for a regulation. */
export interface RegulationRequest {
  /** Its type, which decides its effects. */
  readonly type: RegulationType
  /** The ids of the users. Duplicates count once. */
  readonly userIds: readonly string[]
  /** The sources; null for all, including later ones. */
  readonly sourceIds: readonly string[] | null
}

/** What planning a regulation needs. */
export interface RegulationPlanOptions extends RegulationRequest {
  /** The configured sources. */
  readonly sources: readonly { readonly id: string }[]
  /** The destinations that can be notified. */
  readonly destinations: readonly Destination[]
  /** When the request arrived, in milliseconds since 1970. Notifications have it as their timestamp. */
  readonly nowMs: number
  /** Makes the UUID that the regulation's id is derived from. */
  readonly newId: () => string
}

/** A regulation to be stored, with its notifications. */
export interface PlannedRegulation {
  /** The regulation. */
  readonly regulation: NewRegulation
  /** One event per user and source, with a delivery for each destination. */
  readonly notifications: readonly NewEvent[]
}

/**
 * The reason why a request is refused.
 *
 * - `no_users`, `too_many_users`: it names no user, or more than {@link regulationLimits} allow
 * - `invalid_user_id`: the id at this index is empty or longer than {@link regulationLimits} allow
 * - `no_sources`: it neither names a source nor asks for all
 * - `unknown_source`: a source that it names doesn't exist
 */
export type RegulationRefusal =
  | { readonly kind: 'no_users' }
  | { readonly kind: 'too_many_users'; readonly users: number; readonly usersMax: number }
  | { readonly kind: 'invalid_user_id'; readonly index: number; readonly lengthMax: number }
  | { readonly kind: 'no_sources' }
  | {
      readonly kind: 'unknown_source'
      readonly sourceId: string
      readonly knownIds: readonly string[]
    }

/** A plan, or the reason for a refusal. */
export type RegulationPlan = ({ readonly kind: 'planned' } & PlannedRegulation) | RegulationRefusal

/**
 * Plans a regulation and, if its type notifies, the notifications. For each user there is one event per
 * affected source that has enabled destinations; each of these destinations gets the event. Pure except for the
 * id.
 */
export function planRegulation(options: RegulationPlanOptions): RegulationPlan {
  const outcome = toRegulation(options)
  if (outcome.kind !== 'valid') return outcome
  const { regulation } = outcome
  const { notifies } = effectsOf(regulation.type)
  const notifications = notifies ? notificationsOf(regulation, options) : []
  return { kind: 'planned', regulation, notifications }
}

/** Checks a request and makes the regulation. */
function toRegulation({
  type,
  sources,
  newId,
  ...request
}: Omit<RegulationPlanOptions, 'destinations' | 'nowMs'>):
  { readonly kind: 'valid'; readonly regulation: NewRegulation } | RegulationRefusal {
  const userIds = [...new Set(request.userIds)]
  const sourceIds = request.sourceIds === null ? null : [...new Set(request.sourceIds)]
  const refusal = refuseUsers(request.userIds, userIds.length) ?? refuseSources(sourceIds, sources)
  if (refusal !== undefined) return refusal
  return { kind: 'valid', regulation: { id: regulationId(newId()), type, userIds, sourceIds } }
}

function refuseUsers(userIds: readonly string[], users: number): RegulationRefusal | undefined {
  const { usersMax, userIdLengthMax: lengthMax } = regulationLimits
  if (users === 0) return { kind: 'no_users' }
  const index = userIds.findIndex(({ length }) => length === 0 || length > lengthMax)
  if (index !== -1) return { kind: 'invalid_user_id', index, lengthMax }
  return users > usersMax ? { kind: 'too_many_users', users, usersMax } : undefined
}

function refuseSources(
  sourceIds: readonly string[] | null,
  sources: RegulationPlanOptions['sources'],
): RegulationRefusal | undefined {
  if (sourceIds === null) return undefined
  if (sourceIds.length === 0) return { kind: 'no_sources' }
  const knownIds = sources.map(({ id }) => id)
  const sourceId = sourceIds.find((id) => !knownIds.includes(id))
  return sourceId === undefined ? undefined : { kind: 'unknown_source', sourceId, knownIds }
}

/** Makes the notifications user by user, so that no source has to wait for the others. */
function notificationsOf(
  { id, userIds, sourceIds }: NewRegulation,
  { sources, destinations, nowMs }: RegulationPlanOptions,
): readonly NewEvent[] {
  const affected = (sourceIds ?? sources.map((source) => source.id))
    .map((sourceId) => ({ sourceId, connected: connectedTo(sourceId, destinations) }))
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

function connectedTo(
  sourceId: string,
  destinations: readonly Destination[],
): readonly Destination[] {
  return destinations.filter(({ enabled, sourceIds }) => enabled && sourceIds.includes(sourceId))
}

const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const idDigits = 27
/** The number of bytes that 27 digits in base 62 can express. */
const idBytes = 20

/** Makes an id in the same format as Segment's: `reg_` and 27 letters and digits. */
function regulationId(unique: string): string {
  const hash = createHash('sha256').update(unique).digest('hex')
  let rest = BigInt(`0x${hash.slice(0, idBytes * 2)}`)
  let text = ''
  while (text.length < idDigits) {
    text = (digits[Number(rest % 62n)] ?? '') + text
    rest /= 62n
  }
  return `reg_${text}`
}
