import { isoOrNull, type EndpointFault, type LoggedDelivery } from '../../delivery/index.ts'
import { plainText } from '../../model/index.ts'
import { formatCount } from '../output/numbers.ts'
import { formatSecond } from './moments.ts'

/** The status of a service's destination. */
export interface DestinationStanding {
  readonly id: string
  /** If false, nothing is sent to the destination. */
  readonly enabled: boolean
  readonly endpoints: readonly {
    readonly url: string
    /** When the endpoint is probed, in milliseconds since 1970; null unless its breaker is open. */
    readonly probeAtMs: number | null
    /** Failures of the endpoint that are not retried. */
    readonly faults: readonly Omit<EndpointFault, 'lastMs'>[]
  }[]
}

/**
 * Why a delivery that is due still waits.
 *
 * - `unknown`: a store cannot tell.
 * - `disabled`: the service sends nothing to its destination.
 * - `removed`: its destination is not configured.
 * - `in_turn`: it is being sent, or waits for its turn.
 * - `parked`: every endpoint that it could use is down.
 */
export type Wait =
  | { readonly kind: 'unknown' | 'disabled' | 'removed' | 'in_turn' }
  | {
      readonly kind: 'parked'
      /** The endpoints that are down. */
      readonly urls: readonly string[]
      /** When the first of them is probed, in milliseconds since 1970. */
      readonly untilMs: number
    }

/** Tells why a delivery waits; undefined unless it is due. */
export type WaitOf = (delivery: LoggedDelivery) => Wait | undefined

/**
 * Tells why deliveries wait.
 *
 * @param destinations - the destinations of the service that delivers; undefined if only a store is known
 */
export function waitsAt(
  nowMs: number,
  destinations: readonly DestinationStanding[] | undefined,
): WaitOf {
  const standings = new Map(destinations?.map((destination) => [destination.id, destination]))
  return (delivery) => {
    const { dueAtMs, destinationId } = delivery
    if (dueAtMs === null || dueAtMs > nowMs) return undefined
    if (destinations === undefined) return { kind: 'unknown' }
    const standing = standings.get(destinationId)
    if (standing === undefined) return { kind: 'removed' }
    return standing.enabled ? waitFor(standing, delivery, nowMs) : { kind: 'disabled' }
  }
}

function waitFor(
  { endpoints }: DestinationStanding,
  { holds }: LoggedDelivery,
  nowMs: number,
): Wait {
  const held = new Set(
    holds.filter(({ untilMs }) => (untilMs ?? Infinity) > nowMs).map(({ url }) => url),
  )
  const left = endpoints.filter(({ url }) => !held.has(url))
  const probeTimesMs = left.flatMap(({ probeAtMs }) => probeAtMs ?? [])
  const isDown = left.length > 0 && probeTimesMs.length === left.length
  if (!isDown) return { kind: 'in_turn' }
  return { kind: 'parked', urls: left.map(({ url }) => url), untilMs: Math.min(...probeTimesMs) }
}

/**
 * The extra fields in the record of a delivery that is parked, or whose destination is disabled or removed.
 */
export function waitFields(wait: Wait | undefined): {
  readonly parked?: object
  readonly destinationIs?: 'disabled' | 'removed'
} {
  switch (wait?.kind) {
    case 'parked':
      return { parked: { urls: wait.urls, until: isoOrNull(wait.untilMs) } }
    case 'disabled':
    case 'removed':
      return { destinationIs: wait.kind }
    case 'unknown':
    case 'in_turn':
    case undefined:
      return {}
  }
}

/** Why a delivery is parked and until when, for a person; undefined unless it is parked. */
export function parkedText(wait: Wait | undefined, nowMs: number): string | undefined {
  if (wait?.kind !== 'parked') return undefined
  const { urls, untilMs } = wait
  const down = `${plainText(urls.join(' and '))} ${urls.length === 1 ? 'is' : 'are'} down`
  const time = untilMs > nowMs ? `at ${formatSecond(untilMs, nowMs)}` : 'now'
  return `parked: ${down}, asked again ${time}`
}

/** Failures at the endpoints of a destination that were not retried, for a person. */
export function faultTexts({ endpoints }: DestinationStanding, nowMs: number): readonly string[] {
  return endpoints.flatMap(({ url, faults }) =>
    faults.map(({ reason, failures, sinceMs }) => {
      const webhooks = `${formatCount(failures)} ${failures === 1 ? 'webhook' : 'webhooks'}`
      const since = formatSecond(sinceMs, nowMs)
      return `${webhooks} to ${plainText(url)} failed with ${plainText(reason)} since ${since}, without a retry`
    }),
  )
}
