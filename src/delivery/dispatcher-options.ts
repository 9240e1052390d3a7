import type { Destination } from '../model/index.ts'
import type { Runtime } from '../runtime/index.ts'
import type { DeliverySender } from './attempt.ts'
import type { Peers } from './processes-port.ts'
import type { RetryPolicy } from './retry-policy.ts'
import type { DeliveryStore } from './store-port.ts'

/** A destination with its sender. */
export interface DispatchTarget {
  /** Where deliveries go. */
  readonly destination: Destination
  /** Sends one request. The caller closes it. */
  readonly sender: DeliverySender
  /** When to try again; `defaultRetryPolicy` by default. */
  readonly retryPolicy?: RetryPolicy
  /**
   * Requests in flight per endpoint that this process may have; the destination's concurrency by default.
   * With 0 the dispatcher claims nothing for the destination and returns its ready deliveries.
   */
  readonly concurrency?: number
  /** The part of each endpoint's rate that this process may use, above 0 and up to 1; 1 by default. */
  readonly rateShare?: number
}

/** New settings of a dispatcher. */
export type DispatcherChange = Pick<DispatcherOptions, 'targets' | 'dedupeWindowMs'>

/** Options of a dispatcher. */
export interface DispatcherOptions {
  /** Where deliveries wait. */
  readonly store: DeliveryStore
  /** Where they go; deliveries to other destinations are left alone. */
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
   * Whether to wait while the store is temporarily unusable; nothing is sent meanwhile. By default an outage
   * ends the work.
   */
  readonly outlastsOutages?: boolean
  /** How long a messageId is remembered; 24 h by default. */
  readonly dedupeWindowMs?: number
  /**
   * Whether the process may send at this moment; asked before every start. Always by default. When the answer
   * changes, call `reconfigure` soon.
   */
  readonly maySend?: () => boolean
  /** The processes that share the store; none by default. */
  readonly peers?: Peers | undefined
  /**
   * Deliveries of a destination that may be leased before they can start, however small its concurrency is; 0 by
   * default. Makes claims fewer and larger. Other processes must not need the deliveries.
   */
  readonly readyMin?: number
  /** Upper bound of requests in flight over all endpoints; 512 by default. */
  readonly requestsMax?: number
}
