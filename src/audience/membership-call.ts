import type { NewEvent } from '../delivery/index.ts'
import { planEvent } from '../intake/index.ts'
import {
  formatTimestamp,
  segmentId,
  webhooksDestinationName,
  type AnalyticsEvent,
  type Destination,
  type JsonObject,
  type JsonValue,
} from '../model/index.ts'
import type { Runtime } from '../runtime/index.ts'
import type { ComputationClass, MembershipChange, NewAudience } from './audience.ts'

interface MembershipCallOptions {
  readonly audience: NewAudience
  readonly destinations: readonly Destination[]
  readonly nowMs: number
  readonly newId: () => string
}

/**
 * Makes the identify call for a change, and routes it to webhooks only.
 *
 * The audience's key is the name of a trait in the call. For an audience, the trait is true if the member enters, and
 * false if the member leaves. For a computed trait, it is the member's value, or null if the member leaves. The email
 * address is another trait.
 */
export function membershipEvent(
  change: MembershipChange,
  { audience, destinations, nowMs, newId }: MembershipCallOptions,
): NewEvent {
  const { identity } = change
  const event: AnalyticsEvent = {
    messageId: newId(),
    type: 'identify',
    sourceId: audience.sourceId,
    receivedAtMs: nowMs,
    timestamp: formatTimestamp(nowMs),
    historical: false,
    ...(identity.userId === null ? {} : { userId: identity.userId }),
    ...(identity.anonymousId === null ? {} : { anonymousId: identity.anonymousId }),
    traits: traitsOf(change, audience),
    context: { personas: personasOf(audience) },
    integrations: { All: false, [webhooksDestinationName]: true },
  }
  const { sourceId, messageId, type } = event
  const { deliveries } = planEvent(event, destinations)
  return { sourceId, messageId, type, userId: identity.userId, deliveries }
}

function traitsOf(change: MembershipChange, { key, computationClass }: NewAudience): JsonObject {
  const { email } = change.identity
  const traits = new Map<string, JsonValue>()
  traits.set(key, valueOf(change, computationClass))
  if (email !== null && key !== 'email') traits.set('email', email)
  return Object.fromEntries(traits)
}

function valueOf({ value }: MembershipChange, computationClass: ComputationClass): JsonValue {
  if (computationClass === 'audience') return value !== null
  return value === null ? null : (JSON.parse(value) as JsonValue)
}

function personasOf({ key, computationClass, computationId, sourceId }: NewAudience): JsonObject {
  const space = `spa_${sourceId}`
  return {
    computation_class: computationClass,
    computation_id: computationId,
    computation_key: key,
    namespace: space,
    space_id: space,
  }
}

const idPrefixes: Readonly<Record<ComputationClass, string>> = { audience: 'aud', trait: 'trt' }

/** Makes a computationId: `aud_` or `trt_`, followed by 27 letters and digits. */
export function newComputationId(
  computationClass: ComputationClass,
  { newId }: Pick<Runtime, 'newId'>,
): string {
  return segmentId(idPrefixes[computationClass], newId())
}
