import type { AudienceReader, AudienceStore } from '../audience/index.ts'
import type { DeliveringProcesses, DeliveryLog, DeliveryStore } from '../delivery/index.ts'
import type { RegulationReader, RegulationStore, SharedRegulations } from '../privacy/index.ts'

/** An engine: deliveries, audiences and regulations in one database. Closing it closes all of them. */
export interface Store extends DeliveryStore {
  /** Audiences and computed traits. */
  readonly audiences: AudienceStore
  /** Deletion requests and suppressed users. */
  readonly regulations: RegulationStore
  /** The regulations and archives that processes share; undefined if there is never more than one process. */
  readonly sharedRegulations?: SharedRegulations | undefined
  /** The processes that deliver from it; undefined if there is never more than one. */
  readonly processes?: DeliveringProcesses | undefined
  /** Estimates the number of rows of its tables; undefined if deleted rows take no space. */
  readonly tableRows?: (() => Promise<readonly TableRows[]>) | undefined
  /**
   * Closes the connections to a server that may not answer. Pending and later calls fail, so that closing takes no
   * longer than two seconds. Undefined if the store has no server.
   */
  disconnect?(): void
}

/** The rows of a table in a store where deleted and changed rows take space until they are cleaned up. */
export interface TableRows {
  /** The table. */
  readonly table: string
  /** Existing rows. */
  readonly liveRows: number
  /** Deleted rows that are not cleaned up yet. */
  readonly deadRows: number
}

/** A store that is read while a process delivers from it. Closing it closes all its parts. */
export interface StoreLog extends DeliveryLog {
  /** Audiences and computed traits. */
  readonly audiences: AudienceReader
  /** Deletion requests. */
  readonly regulations: RegulationReader
  /** The archives that regulations wait for; undefined if one process has them all. */
  readonly sharedRegulations?: Pick<SharedRegulations, 'release'> | undefined
}
