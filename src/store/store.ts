import type { AudienceReader, AudienceStore } from '../audience/index.ts'
import type { DeliveringProcesses, DeliveryLog, DeliveryStore } from '../delivery/index.ts'
import type { RegulationReader, RegulationStore } from '../privacy/index.ts'

/** An engine: deliveries, audiences and regulations in one database. Closing it closes all of them. */
export interface Store extends DeliveryStore {
  /** Audiences and computed traits. */
  readonly audiences: AudienceStore
  /** Deletion requests and suppressed users. */
  readonly regulations: RegulationStore
  /** The processes that deliver from it; undefined where there is never more than one. */
  readonly processes?: DeliveringProcesses | undefined
}

/** What can be looked at beside a process that delivers from the store. Closing it closes all of it. */
export interface StoreLog extends DeliveryLog {
  /** Audiences and computed traits. */
  readonly audiences: AudienceReader
  /** Deletion requests. */
  readonly regulations: RegulationReader
}
