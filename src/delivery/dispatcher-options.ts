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

/** A destination, and how to send to it. */
export interface DispatchTarget {
  readonly destination: Destination
  /** The caller closes it. */
  readonly sender: DeliverySender
  /** `defaultRetryPolicy` by default. */
  readonly retryPolicy?: RetryPolicy
  /**
   * Maximum number of requests that this process may have in flight per endpoint; the destination's concurrency by
   * default. If 0, the dispatcher claims nothing for the destination, and gives
   * its ready deliveries back to the store.
   */
  readonly concurrency?: number
  /** The share of each endpoint's rate that this process may use, above 0 and up to 1; 1 by default. */
  readonly rateShare?: number
}

/** Options of `Dispatcher`. `reconfigure` can replace `targets`; the other options stay. */
export interface DispatcherOptions {
  readonly store: DeliveryStore
  /** The destinations to send to. Deliveries to others are left alone. */
  readonly targets: readonly DispatchTarget[]
  readonly runtime: Runtime
  /** Called once, with the error that made the store unusable. Nothing is sent afterwards. */
  readonly failed?: ((error: unknown) => void) | undefined
  /**
   * Keeps deliveries parked while their endpoints are down, so that a later run can send them. By default, they
   * expire once the endpoints have been down for a whole retry window.
   */
  readonly keepsParked?: boolean
  /** Waits, and sends nothing, while the store is temporarily unusable. By default, the dispatcher fails then. */
  readonly outlastsOutages?: boolean
  /** Returns how long messageIds are remembered for deduplication; 24 h by default. */
  readonly dedupeWindowMs?: () => number
  /**
   * Returns whether this process may send now; always true by default. The dispatcher calls it before each request.
   * Call `reconfigure` soon after the answer changes.
   */
  readonly maySend?: () => boolean
  /** The other processes that share the store; none by default. */
  readonly peers?: Peers | undefined
  /**
   * How many deliveries of a destination may be leased in advance, however low its concurrency; 0 by default. A higher
   * number makes claims fewer and larger, but keeps deliveries from other processes.
   */
  readonly readyMin?: number
  /** Maximum number of requests in flight to all endpoints together; 512 by default. */
  readonly requestsMax?: number
}
