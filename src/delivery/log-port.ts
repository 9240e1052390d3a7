import type { DeliveryLedger, EventType, Lane, RequestRecord } from '../model/index.ts'
import type { DeliveryKey } from './delivery-id.ts'
import type { DeliveryProgress } from './store-port.ts'

/** The state of a delivery in the log. A leased delivery is `pending`. */
export type LoggedState = 'pending' | 'delivered' | 'failed' | 'expired'

/** A delivery as the log lists it. */
export interface LoggedDelivery extends DeliveryKey, DeliveryProgress {
  readonly sourceId: string
  readonly messageId: string
  readonly type: EventType
  /** The name of a track event, page or screen; null if absent, erased, or preceded by very long ids in the body. */
  readonly eventName: string | null
  /** The id of the event's user; null if only an anonymousId is known. */
  readonly userId: string | null
  /** A leased delivery is `pending`. */
  readonly state: LoggedState
  /** Why the delivery waits, or waited last: for its `first` attempt, a scheduled `retry` or a `manual` retry. */
  readonly lane: Lane
  readonly acceptedAtMs: number
  /** When its next round is due, in milliseconds since 1970; null unless it is pending. */
  readonly dueAtMs: number | null
  /** When its retry window ends, in milliseconds since 1970; null before the first failed round. */
  readonly expiresAtMs: number | null
  /** When the delivery ended, in milliseconds since 1970; null while it is pending. */
  readonly settledAtMs: number | null
  /** Why it failed or expired; while it is pending, why its last round failed; null otherwise. */
  readonly reason: string | null
  readonly manualRetries: number
}

/** A delivery with its text and its requests. */
export interface DeliveryStory extends LoggedDelivery {
  /** The exact text of the webhook. */
  readonly body: string
  /** All requests, in the order in which they started. */
  readonly requests: readonly RequestRecord[]
}

/** Selects deliveries that meet all the conditions that are present. */
export interface DeliveryFilter {
  readonly destinationId?: string | undefined
  /** The delivery's id, which is unique only within its destination. */
  readonly id?: number | undefined
  readonly messageId?: string | undefined
  readonly states?: readonly LoggedState[] | undefined
  readonly types?: readonly EventType[] | undefined
  readonly userId?: string | undefined
  /** Accepted at this time or later, in milliseconds since 1970. */
  readonly sinceMs?: number | undefined
  /** Accepted before this time, in milliseconds since 1970. */
  readonly untilMs?: number | undefined
}

/** A request for one page of deliveries. */
export interface ListRequest {
  readonly filter: DeliveryFilter
  readonly limit: number
  /** The id of the last delivery on the previous page. Only deliveries with lower ids are listed. */
  readonly beforeId?: number | undefined
}

/** A request to retry deliveries manually, or to end pending deliveries without sending them. */
export interface ChangeRequest {
  /** The time of the change, in milliseconds since 1970. */
  readonly nowMs: number
  readonly filter: DeliveryFilter
  readonly limit: number
  /** The `next` of the previous call. The search continues there. */
  readonly after?: ChangePosition | undefined
}

/** Selects the deliveries that {@link DeliveryLog.countLost} counts. */
export interface LostRequest {
  readonly destinationId: string
  /** Ended at this time or later, in milliseconds since 1970. */
  readonly sinceMs: number
  /** Count no further than this. */
  readonly limit: number
}

/** How far a search has come: the last delivery that it changed. */
export interface ChangePosition {
  /** The number of the range that was searched. Each engine searches the same ranges in the same order. */
  readonly range: number
  /** The id of the destination, escaped as in the store. */
  readonly destinationId: string
  /** A range is ordered by one of the times of a delivery. This is that time, of the last changed delivery. */
  readonly atMs: number
}

/** What one call changed. */
export interface ChangeResult {
  readonly deliveries: number
  /** Where the next call continues; null once none is left. */
  readonly next: ChangePosition | null
}

/** Numbers of ended deliveries, by state. */
export type EndedCounts = Readonly<Record<'delivered' | 'failed' | 'expired', number>>

/** The counts of a store, which `auditEquations` compares. */
export interface StoreAudit {
  /** The totals that the store has kept since it was created. */
  readonly ledger: DeliveryLedger
  /** Deliveries in the store, counted one by one. */
  readonly counted: EndedCounts & { readonly pending: number }
  /** Ended deliveries that were purged. */
  readonly purged: EndedCounts
  /** Deliveries whose webhook body is missing from the store. */
  readonly withoutBody: number
}

/** The log of deliveries, for the delivering process and for others. The rules of the DeliveryStore port apply. */
export interface DeliveryLog {
  /** Lists the deliveries that match the filter, highest id first. */
  list(request: ListRequest): Promise<readonly LoggedDelivery[]>
  /** Reads one delivery with its body and its requests; undefined if there is none. */
  story(key: DeliveryKey): Promise<DeliveryStory | undefined>
  /**
   * Moves matching deliveries that failed, expired or wait for a retry to the lane `manual`. They are due at once, with
   * a new retry window and without holds. Skips deliveries that ended after `nowMs`, or were first tried after it. So
   * repeating a call with the same `nowMs` never retries a delivery that has failed again. Skips discarded deliveries
   * unless the filter has an `id` or a `messageId`, and erased ones always.
   *
   * Pass `next` to the next call, so that it does not read the skipped deliveries again.
   */
  retry(request: ChangeRequest): Promise<ChangeResult>
  /**
   * Ends matching pending deliveries as `failed`, with the reason `discarded`. Skips leased deliveries, and deliveries
   * that were accepted after `nowMs`. In SQLite, a process sees only its own leases, so it may discard a delivery that
   * another process is sending. Such a delivery counts as delivered if its endpoint accepts it. Like `retry`, continues
   * at `after`.
   */
  discard(request: ChangeRequest): Promise<ChangeResult>
  /** Counts deliveries that failed or expired, without discarded and erased ones. */
  countLost(request: LostRequest): Promise<number>
  /** Reads the ledger and counts the rows in one snapshot. */
  audit(): Promise<StoreAudit>
  /** Closes the log. Idempotent. */
  close(): Promise<void>
}
