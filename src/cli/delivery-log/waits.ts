import { isoOrNull, type EndpointFault, type LoggedDelivery } from '../../delivery/index.ts'
import { plainText } from '../../model/index.ts'
import { formatCount } from '../output/numbers.ts'
import { formatSecond } from './moments.ts'

/** How a destination of a service stands. */
export interface DestinationStanding {
  /** Its id. */
  readonly id: string
  /** Off means that nothing is sent to it. */
  readonly enabled: boolean
  /** Its endpoints. */
  readonly endpoints: readonly {
    /** The URL. */
    readonly url: string
    /** When it is probed, in milliseconds since 1970; null unless its breaker is open. */
    readonly probeAtMs: number | null
    /** How it fails webhooks without a retry. */
    readonly faults: readonly Omit<EndpointFault, 'lastMs'>[]
  }[]
}

/**
 * What keeps a delivery that is due. `unknown`: a store cannot tell. `disabled` and `removed`: the service
 * sends nothing to its destination, which is off or not configured.
 */
export type Wait =
  | { readonly kind: 'unknown' | 'disabled' | 'removed' | 'in_turn' }
  | {
      readonly kind: 'parked'
      /** The endpoints that are down: all that it could be sent to. */
      readonly urls: readonly string[]
      /** When the first of them is asked again, in milliseconds since 1970. */
      readonly untilMs: number
    }

/** Tells what keeps a delivery; undefined unless it is due. */
export type WaitOf = (delivery: LoggedDelivery) => Wait | undefined

/**
 * Tells what keeps deliveries, as far as it is known.
 *
 * @param destinations - those of the service that delivers them; undefined where only a store is known
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

/** What a record has beside the fields of a delivery while it is parked, or nothing is sent there. */
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

/** Why a delivery is parked and until when, for a person; undefined unless it is. */
export function parkedText(wait: Wait | undefined, nowMs: number): string | undefined {
  if (wait?.kind !== 'parked') return undefined
  const { urls, untilMs } = wait
  const down = `${plainText(urls.join(' and '))} ${urls.length === 1 ? 'is' : 'are'} down`
  const time = untilMs > nowMs ? `at ${formatSecond(untilMs, nowMs)}` : 'now'
  return `parked: ${down}, asked again ${time}`
}

/** How the endpoints of a destination fail webhooks without a retry, for a person. */
export function faultTexts({ endpoints }: DestinationStanding, nowMs: number): readonly string[] {
  return endpoints.flatMap(({ url, faults }) =>
    faults.map(({ reason, failures, sinceMs }) => {
      const webhooks = `${formatCount(failures)} ${failures === 1 ? 'webhook' : 'webhooks'}`
      const since = formatSecond(sinceMs, nowMs)
      return `${webhooks} to ${plainText(url)} failed with ${plainText(reason)} since ${since}, without a retry`
    }),
  )
}
