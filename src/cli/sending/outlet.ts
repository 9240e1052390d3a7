import type { BatchRetry } from '../../client/index.ts'
import type { DeliveryLedger, JsonObject, Rejection } from '../../model/index.ts'
import type { Runtime } from '../../runtime/index.ts'
import type { OfferResult, RowPlace } from './call-queue.ts'
import type { SendingOptions } from './sending-options.ts'
import type { EndedDelivery } from './sending-records.ts'

/** Time that calls and then requests under way are given when a command is interrupted. */
export const stopGraceMs = 300

/** The books of an outlet. */
export interface OutletLedger extends DeliveryLedger {
  /** Calls that a service answered for; undefined where there is none. */
  readonly acknowledged?: number
}

/** The way that rows leave a command. */
export interface Outlet {
  /** The store that keeps what is not delivered, as it may be shown; undefined where none does. */
  readonly storeName?: string | undefined
  /** Whether deliveries of earlier runs to the same destination failed or expired, and are kept. */
  readonly hasFailedBefore?: boolean
  /** Takes one row in, waiting while too many are under way. */
  offer(row: JsonObject, place: RowPlace): Promise<OfferResult>
  /** Resolves once everything that was taken has come to its end. */
  finish(): Promise<void>
  /** Ends early; what is not done stays open in the books. */
  stop(): Promise<void>
  /** The books so far. */
  ledger(): Promise<OutletLedger>
  /** Lets go of everything. */
  close(): Promise<void>
}

/** Is told what happens to rows after they were taken. */
export interface OutletListener {
  /** A row was refused after all: it counts as rejected, not as accepted. */
  rejected(place: RowPlace, rejection: Rejection): void
}

/** Is told what a service does with rows; webhooks tell the observer of the runtime instead. */
export interface ServiceListener extends OutletListener {
  /** The service took a row. */
  acknowledged(): void
  /** A batch could not be sent and is tried again. */
  retrying(retry: BatchRetry): void
  /** A row that was taken will not reach the service; the message says why. */
  failed(delivery: EndedDelivery, message: string): void
}

/** What every outlet is made of. */
export interface OutletParts {
  /** Where and how to send. */
  readonly options: SendingOptions
  /** Everything ambient. */
  readonly runtime: Runtime
  /** Is told what happens to rows later. */
  readonly listener: OutletListener
}
