import type { EventType } from './event.ts'

/**
 * The state of a delivery. `failed` will never succeed; `expired` ran out of its retry window. Both are kept and
 * can be retried by hand.
 */
export type DeliveryState = 'pending' | 'leased' | 'delivered' | 'failed' | 'expired'

/**
 * Why a delivery is due: its first try, a scheduled retry, or a retry by hand. Each lane is a queue of its
 * own.
 */
export type Lane = 'first' | 'retry' | 'manual'

/** All lanes, in the order in which they have their turn. */
export const lanes: readonly Lane[] = Object.freeze(['first', 'manual', 'retry'] as const)

/** How one request ended: `final` means that asking again cannot help. */
export type RequestVerdict = 'success' | 'retry' | 'final'

/** One request of an attempt, as the delivery log shows it. */
export interface RequestRecord {
  /** The destination of the delivery. */
  readonly destinationId: string
  /** Identifies the delivery within its destination. */
  readonly deliveryId: number
  /** The event that was sent. */
  readonly messageId: string
  /** Where it was sent. */
  readonly url: string
  /** Why it was made. */
  readonly lane: Lane
  /** The round it belongs to, from 1. */
  readonly attempt: number
  /** When it started, in milliseconds since 1970. */
  readonly atMs: number
  /** How it ended. */
  readonly outcome: RequestVerdict
  /** The answer's status; null when there was none. */
  readonly status: number | null
  /** Why the request failed, such as `timeout` or `DEPTH_ZERO_SELF_SIGNED_CERT`; null on success. */
  readonly error: string | null
  /** How long it took, in milliseconds. */
  readonly durationMs: number
  /** The first 4 KB of the answer's body; empty when there was none. */
  readonly excerpt: string
}

/** The circuit breaker of an endpoint changed its state. */
export interface EndpointChange {
  /** The destination's id. */
  readonly destinationId: string
  /** The endpoint. */
  readonly url: string
  /**
   * `open`: it is left alone until it is probed. `recovering`: a probe succeeded, and it is asked more
   * and more often. `closed`: it gets all its requests again.
   */
  readonly state: 'open' | 'recovering' | 'closed'
  /** When it is probed, in milliseconds since 1970; null unless it is open. */
  readonly probeAtMs: number | null
  /** How its last request failed; null unless it is open. */
  readonly error: string | null
}

/**
 * Why deliveries end without another attempt.
 *
 * - `window_over`: their retry window ended while they waited
 * - `abandoned`: they waited too long for their first attempt
 * - `backlog_full`: as many as their destination may have were waiting when they came
 */
export type GivenUpReason = 'window_over' | 'abandoned' | 'backlog_full'

/** Why a delivery failed that was discarded by hand. */
export const discardedReason = 'discarded'

/** The final states of deliveries that are given up. */
export const givenUpStates: Readonly<Record<GivenUpReason, 'failed' | 'expired'>> = Object.freeze({
  window_over: 'expired',
  abandoned: 'expired',
  backlog_full: 'failed',
})

/** Deliveries of one destination that the store ended. */
export interface GivenUpDeliveries {
  /** The destination's id. */
  readonly destinationId: string
  /** Why they ended. */
  readonly reason: GivenUpReason
  /** How many they are. */
  readonly deliveries: number
}

/** A delivery that ended. */
export interface SettledDelivery {
  /** The event. */
  readonly messageId: string
  /** The type of the event. */
  readonly type: EventType
  /** The destination's id. */
  readonly destinationId: string
  /** Its final state. */
  readonly state: Exclude<DeliveryState, 'pending' | 'leased'>
  /** Rounds that were made. */
  readonly attempts: number
  /** When its event was accepted, in milliseconds since 1970. */
  readonly acceptedAtMs: number
  /** Why it was not delivered; null when it was. */
  readonly reason: string | null
}
