import type { AudienceReader, AudienceStore } from '../audience/index.ts'
import type { DeliveringProcesses, DeliveryLog, DeliveryStore } from '../delivery/index.ts'
import type { RegulationReader, RegulationStore, SharedRegulations } from '../privacy/index.ts'

/** An engine: deliveries, audiences and regulations in one database. Closing it closes all of them. */
export interface Store extends DeliveryStore {
  /** Audiences and computed traits. */
  readonly audiences: AudienceStore
  /** Deletion requests and suppressed users. */
  readonly regulations: RegulationStore
  /** What processes know of each other's regulations; undefined where there is never more than one. */
  readonly sharedRegulations?: SharedRegulations | undefined
  /** The processes that deliver from it; undefined where there is never more than one. */
  readonly processes?: DeliveringProcesses | undefined
  /** How many rows its tables have, by estimate; undefined where rows that are gone take no room. */
  readonly tableRows?: (() => Promise<readonly TableRows[]>) | undefined
}

/** The rows of a table in a store where a row that is changed or gone takes room until it is cleaned up. */
export interface TableRows {
  /** The table. */
  readonly table: string
  /** Rows that are there. */
  readonly liveRows: number
  /** Rows that are gone, and not cleaned up yet. */
  readonly deadRows: number
}

/** What can be looked at beside a process that delivers from the store. Closing it closes all of it. */
export interface StoreLog extends DeliveryLog {
  /** Audiences and computed traits. */
  readonly audiences: AudienceReader
  /** Deletion requests. */
  readonly regulations: RegulationReader
  /** The archives that those wait for; undefined where one process has them all. */
  readonly sharedRegulations?: Pick<SharedRegulations, 'release'> | undefined
}
