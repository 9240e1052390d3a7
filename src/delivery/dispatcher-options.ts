import type { Destination, Endpoint } from '../model/index.ts'
import type { Runtime } from '../runtime/index.ts'
import type { RequestOutcome } from '../webhook/index.ts'
import type { Peers } from './processes-port.ts'
import type { RetryPolicy } from './retry-policy.ts'
import type { DeliveryStore, LeasedDelivery } from './store-port.ts'

/** Sends deliveries to the endpoints of one destination. */
export interface DeliverySender {
  /** Sends one request; never rejects. */
  post(endpoint: Endpoint, delivery: LeasedDelivery): Promise<RequestOutcome>
}

/** A destination with its sender. */
export interface DispatchTarget {
  /** The destination. */
  readonly destination: Destination
  /** Sends one request. The caller closes it. */
  readonly sender: DeliverySender
  /** When to try again; `defaultRetryPolicy` by default. */
  readonly retryPolicy?: RetryPolicy
  /**
   * Maximum number of requests that this process may have in flight per endpoint; the destination's concurrency
   * by default. With 0, the dispatcher claims nothing for the destination and returns its ready deliveries.
   */
  readonly concurrency?: number
  /** The share of each endpoint's rate that this process may use, above 0 and up to 1; 1 by default. */
  readonly rateShare?: number
}

/** Options of `Dispatcher`. */
export interface DispatcherOptions {
  /** Where deliveries wait. */
  readonly store: DeliveryStore
  /** The destinations to send to; deliveries to any other destination are left alone. */
  readonly targets: readonly DispatchTarget[]
  /** Clock, randomness, log and observer. */
  readonly runtime: Runtime
  /** Called once with the error that made the store unusable. Nothing is sent after it. */
  readonly failed?: (error: unknown) => void
  /**
   * Whether deliveries stay parked while their endpoints are down, so that a later run can send them. By
   * default they expire once the endpoints have been down for a whole retry window.
   */
  readonly keepsParked?: boolean
  /**
   * Whether to wait while the store is temporarily unusable; nothing is sent in that time. By default an outage
   * makes the dispatcher fail.
   */
  readonly outlastsOutages?: boolean
  /** Returns how long messageIds are remembered for deduplication; 24 h by default. */
  readonly dedupeWindowMs?: () => number
  /**
   * Whether the process may send now; always by default. Called before every request starts. When its answer
   * changes, call `reconfigure` soon.
   */
  readonly maySend?: () => boolean
  /** The processes that share the store; none by default. */
  readonly peers?: Peers | undefined
  /**
   * Number of a destination's deliveries that may be leased in advance, however low its concurrency is; 0 by
   * default. It makes claims fewer and larger. Use it only if no other process needs the deliveries.
   */
  readonly readyMin?: number
  /** Maximum number of requests in flight to all endpoints together; 512 by default. */
  readonly requestsMax?: number
}
