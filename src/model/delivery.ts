import type { EventType } from './event.ts'

/**
 * Where a delivery stands. `failed` will never succeed; `expired` ran out of its retry window. Both
 * are kept and can be retried by hand.
 */
export type DeliveryState = 'pending' | 'leased' | 'delivered' | 'failed' | 'expired'

/** How one request ended: `final` means that asking again cannot help. */
export type RequestVerdict = 'success' | 'retry' | 'final'

/** One request of an attempt, as the delivery log shows it. */
export interface RequestRecord {
  /** The event that was sent. */
  readonly messageId: string
  /** Where it was sent. */
  readonly url: string
  /** The round it belongs to, from 1. */
  readonly attempt: number
  /** When it started, in milliseconds since 1970. */
  readonly atMs: number
  /** How it ended. */
  readonly outcome: RequestVerdict
  /** The answer's status; null when there was none. */
  readonly status: number | null
  /** Why it did not succeed, such as `timeout` or `DEPTH_ZERO_SELF_SIGNED_CERT`; null on success. */
  readonly error: string | null
  /** How long it took, in milliseconds. */
  readonly durationMs: number
}

/** A delivery that came to its end. */
export interface SettledDelivery {
  /** The event. */
  readonly messageId: string
  /** What the event is. */
  readonly type: EventType
  /** The destination's id. */
  readonly destinationId: string
  /** Where it ended. */
  readonly state: Exclude<DeliveryState, 'pending' | 'leased'>
  /** Rounds that were made. */
  readonly attempts: number
  /** Why it was not delivered; null when it was. */
  readonly reason: string | null
}
