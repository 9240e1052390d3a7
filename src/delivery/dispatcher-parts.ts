import type { Clock } from '../runtime/index.ts'
import type { DestinationQueue } from './destination-queue.ts'
import type { Outbox } from './outbox.ts'
import type { Prefetch } from './prefetch.ts'
import type { DeliveryStore } from './store-port.ts'
import type { WaitingTimes } from './waiting-times.ts'

/** What the parts of a dispatcher share. */
export interface DispatcherParts {
  readonly store: DeliveryStore
  readonly clock: Clock
  /** Keyed by destination id. */
  readonly queues: ReadonlyMap<string, DestinationQueue>
  readonly times: WaitingTimes
  readonly prefetch: Prefetch
  readonly outbox: Outbox
}
