import type { AudienceReader, AudienceStore } from '../audience/index.ts'
import type { DeliveringProcesses, DeliveryLog, DeliveryStore } from '../delivery/index.ts'
import type { RegulationReader, RegulationStore, SharedRegulations } from '../privacy/index.ts'

/** Deliveries, audiences and regulations in one database. Closing it closes all of them. */
export interface Store extends DeliveryStore {
  /** Audiences and computed traits. */
  readonly audiences: AudienceStore
  /** Deletion requests and suppressed users. */
  readonly regulations: RegulationStore
  /** How processes share regulations and archives; undefined if only one process can use the store. */
  readonly sharedRegulations?: SharedRegulations | undefined
  /** The processes that deliver from the store; undefined if only one can. */
  readonly processes?: DeliveringProcesses | undefined
  /** Estimates the live and dead rows of each table; undefined if the engine keeps no dead rows. */
  readonly tableRows?: (() => Promise<readonly TableRows[]>) | undefined
  /**
   * Stops waiting for a server or a thread that may not answer: pending and later calls fail. Closing then takes at
   * most two seconds. Undefined if the store uses neither.
   */
  disconnect?(): void
}

/** The estimated number of rows in a table. */
export interface TableRows {
  readonly table: string
  readonly liveRows: number
  /** Deleted or old rows that still take space. */
  readonly deadRows: number
}

/** A store that is read while a process delivers from it. Closing it closes all its parts. */
export interface StoreLog extends DeliveryLog {
  readonly audiences: AudienceReader
  readonly regulations: RegulationReader
  /** Stops regulations from waiting for a lost archive; undefined if only one process can use the store. */
  readonly sharedRegulations?: Pick<SharedRegulations, 'release'> | undefined
}
