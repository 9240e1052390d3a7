import type { EventType } from './event.ts'

/**
 * The state of a delivery. A `failed` delivery was refused for good, was discarded, or arrived when the backlog
 * was full. An `expired` one was not delivered in time. Both are kept and can be retried manually.
 */
export type DeliveryState = 'pending' | 'leased' | 'delivered' | 'failed' | 'expired'

/** Why a delivery is due: its first try, a scheduled retry, or a manual retry. Each lane is a separate queue. */
export type Lane = 'first' | 'retry' | 'manual'

/** All lanes, in the order in which they take turns. */
export const lanes: readonly Lane[] = Object.freeze(['first', 'manual', 'retry'] as const)

/** How a request ended: it succeeded, failed perhaps temporarily, or failed for good. */
export type RequestVerdict = 'success' | 'retry' | 'final'

/** One request of an attempt, as the delivery log shows it. */
export interface RequestRecord {
  readonly destinationId: string
  /** Identifies the delivery within its destination. */
  readonly deliveryId: number
  readonly messageId: string
  readonly url: string
  readonly lane: Lane
  /** The attempt that the request belongs to, from 1. */
  readonly attempt: number
  /** When the request started, in milliseconds since 1970. */
  readonly atMs: number
  /** After `retry`, another request may succeed. After `final`, a retry cannot help. */
  readonly outcome: RequestVerdict
  /** The answer's status; null when there was none. */
  readonly status: number | null
  /** Why the request failed, such as `timeout` or `DEPTH_ZERO_SELF_SIGNED_CERT`; null on success. */
  readonly error: string | null
  /** How long the request took. */
  readonly durationMs: number
  /** The first 4 KB of the answer's body; empty when there was none. */
  readonly excerpt: string
}

/** A change in the state of an endpoint's circuit breaker. */
export interface EndpointChange {
  readonly destinationId: string
  readonly url: string
  /**
   * `open`: the endpoint gets no requests until a probe. `recovering`: a probe succeeded, and the number of
   * concurrent requests grows with each success. `closed`: the endpoint gets all its requests again.
   */
  readonly state: 'open' | 'recovering' | 'closed'
  /** When the next probe is due, in milliseconds since 1970; null unless the breaker is open. */
  readonly probeAtMs: number | null
  /** How the last request failed; null unless the breaker is open. */
  readonly error: string | null
}

/** Why the store gives up on deliveries without another attempt. */
export type GivenUpReason = 'window_over' | 'abandoned' | 'backlog_full'

/** The recorded error of a delivery that an operator discarded. */
export const discardedReason = 'discarded'

/** The failure reason of a delivery that an erasure ended. It replaces the reason of an earlier failure. */
export const erasedReason = 'erased'

/**
 * Returns the reasons of ended deliveries that a manual retry skips: `erased`, and `discarded` unless the retry names
 * deliveries by id or messageId.
 */
export function reasonsNotRetried(isNamed: boolean): readonly string[] {
  return isNamed ? [erasedReason] : [erasedReason, discardedReason]
}

/** The final state of a delivery, by the reason why it was given up. */
export const givenUpStates: Readonly<Record<GivenUpReason, 'failed' | 'expired'>> = Object.freeze({
  window_over: 'expired',
  abandoned: 'expired',
  backlog_full: 'failed',
})

/** Deliveries of one destination that the store gave up. */
export interface GivenUpDeliveries {
  readonly destinationId: string
  readonly reason: GivenUpReason
  readonly deliveries: number
}

/** A delivery that was delivered, failed or expired. */
export interface SettledDelivery {
  readonly messageId: string
  readonly type: EventType
  readonly destinationId: string
  readonly state: Exclude<DeliveryState, 'pending' | 'leased'>
  readonly attempts: number
  /** When the event was accepted, in milliseconds since 1970. */
  readonly acceptedAtMs: number
  /** Why the delivery failed or expired; null if it was delivered. */
  readonly reason: string | null
}
