import type { BatchRetry } from '../../client/index.ts'
import type { DeliveryLedger, JsonObject, Rejection } from '../../model/index.ts'
import type { Runtime } from '../../runtime/index.ts'
import type { OfferResult, RowPosition } from './call-queue.ts'
import type { SendingOptions } from './sending-options.ts'
import type { EndedDelivery } from './report-text.ts'

/** Grace period for calls, and then for requests, when a command is interrupted. */
export const stopGraceMs = 300

/** The ledger of an outlet. */
export interface OutletLedger extends DeliveryLedger {
  /** Calls that a service acknowledged; undefined without a service. */
  readonly acknowledged?: number
}

/** The way that rows leave a command. */
export interface Outlet {
  /** The store that keeps undelivered webhooks, without its password; undefined without a store. */
  readonly storeName?: string | undefined
  /** Whether the store has failed or expired deliveries of earlier runs to the same destination. */
  readonly hasFailedBefore?: boolean
  /** Takes a row. Waits while too many are under way. */
  offer(row: JsonObject, position: RowPosition): Promise<OfferResult>
  /** Resolves when every accepted row is done. */
  finish(): Promise<void>
  /** Ends early. Unfinished deliveries stay pending in the ledger. */
  stop(): Promise<void>
  /** The ledger so far. */
  ledger(): Promise<OutletLedger>
  /** Releases all resources. */
  close(): Promise<void>
}

/** Hears what happens to rows after they were taken. */
export interface OutletListener {
  /** A row was rejected after all. It counts as rejected, not as accepted. */
  rejected(position: RowPosition, rejection: Rejection): void
}

/** Hears what a service does with rows. For webhooks, the observer of the runtime hears this instead. */
export interface ServiceListener extends OutletListener {
  /** The service acknowledged a row. */
  acknowledged(): void
  /** A batch failed and will be retried. */
  retrying(retry: BatchRetry): void
  /** A row will not reach the service; the message says why. */
  failed(delivery: EndedDelivery, message: string): void
}

/** The parts of every outlet. */
export interface OutletParts {
  readonly options: SendingOptions
  readonly runtime: Runtime
  /** Hears what happens to rows later. */
  readonly listener: OutletListener
}
