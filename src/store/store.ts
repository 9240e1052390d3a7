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
  /** Estimates the rows in each table; undefined in engines where deleted rows take no space. */
  readonly tableRows?: (() => Promise<readonly TableRows[]>) | undefined
  /**
   * Gives up a server or a thread that may not answer. Pending and later calls fail, so that closing takes at most two
   * seconds. Undefined if this thread does all the work.
   */
  disconnect?(): void
}

/** The rows in a table, where deleted and changed rows take space until they are cleaned up. */
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
  /** The archives that regulations wait for; undefined if one process has them all. */
  readonly sharedRegulations?: Pick<SharedRegulations, 'release'> | undefined
}
