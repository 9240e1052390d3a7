import type {
  DeliveryLedger,
  EventType,
  GivenUpDeliveries,
  Lane,
  RequestRecord,
} from '../model/index.ts'
import type { DeliveryKey } from './delivery-id.ts'
import type { DeliveryProgress } from './store-port.ts'

/** The state of a delivery in the log. A delivery that is being sent is pending. */
export type LoggedState = 'pending' | 'delivered' | 'failed' | 'expired'

/** A delivery as the log lists it. */
export interface LoggedDelivery extends DeliveryProgress {
  /** The destination. */
  readonly destinationId: string
  /** Identifies it among the deliveries of its destination. */
  readonly id: number
  /** The source of the event. */
  readonly sourceId: string
  /** The event. */
  readonly messageId: string
  /** The type of the event. */
  readonly type: EventType
  /** The name of a track event, page or screen; null without one, and behind ids of thousands of characters. */
  readonly eventName: string | null
  /** The id of its user; null if only an anonymousId is known. */
  readonly userId: string | null
  /** The state. */
  readonly state: LoggedState
  /** Why its next round is due, or its last one was. */
  readonly lane: Lane
  /** When the event was accepted, in milliseconds since 1970. */
  readonly acceptedAtMs: number
  /** When its next round is due; null unless it is pending. */
  readonly dueAtMs: number | null
  /** The last moment at which another round may start; null before a round failed. */
  readonly expiresAtMs: number | null
  /** When it ended; null while it is pending. */
  readonly settledAtMs: number | null
  /** Why it failed or expired, or why the last round of a pending one failed; null otherwise. */
  readonly reason: string | null
  /** How often it was retried by hand. */
  readonly manualRetries: number
}

/** A delivery with its text and its requests. */
export interface DeliveryStory extends LoggedDelivery {
  /** The exact text of the webhook. */
  readonly body: string
  /** Every request, in the order they started. */
  readonly requests: readonly RequestRecord[]
}

/** Conditions that a delivery must meet, all of them. An absent condition admits every delivery. */
export interface DeliveryFilter {
  /** The destination. */
  readonly destinationId?: string | undefined
  /** The id within the destination. */
  readonly id?: number | undefined
  /** The messageId of the event. */
  readonly messageId?: string | undefined
  /** One of these states. */
  readonly states?: readonly LoggedState[] | undefined
  /** One of these types. */
  readonly types?: readonly EventType[] | undefined
  /** The id of the user. */
  readonly userId?: string | undefined
  /** Accepted at this moment or after, in milliseconds since 1970. */
  readonly sinceMs?: number | undefined
  /** Accepted before this moment. */
  readonly untilMs?: number | undefined
}

/** A page of deliveries. */
export interface ListRequest {
  /** The deliveries to choose from. */
  readonly filter: DeliveryFilter
  /** Maximum number of deliveries. */
  readonly limit: number
  /** Only deliveries with a lower id. Pass the last id of the previous page. */
  readonly beforeId?: number | undefined
}

/** Deliveries to retry by hand. */
export interface RetryRequest {
  /** When they are due, in milliseconds since 1970. Deliveries that failed later are left alone. */
  readonly nowMs: number
  /** The deliveries to choose from. */
  readonly filter: DeliveryFilter
  /** Maximum number of deliveries to retry. */
  readonly limit: number
}

/** Pending deliveries to end without sending them. */
export interface DiscardRequest {
  /** When they end, in milliseconds since 1970. Deliveries that were accepted later are left alone. */
  readonly nowMs: number
  /** The deliveries to choose from. */
  readonly filter: DeliveryFilter
  /** Maximum number of deliveries to end. */
  readonly limit: number
}

/** Which rows to delete, by moments in milliseconds since 1970. */
export interface PurgeRequest {
  /** Now: the end time of deliveries that this purge expires. */
  readonly nowMs: number
  /** Delete deliveries that were delivered before this moment. */
  readonly deliveredBeforeMs: number
  /** Delete deliveries that failed or expired before this moment. */
  readonly failedBeforeMs: number
  /** Expire, as `abandoned`, deliveries that have waited since before this moment without an attempt. */
  readonly abandonedBeforeMs: number
  /** Forget messageIds that were added before this moment. */
  readonly messageIdsBeforeMs: number
  /** Maximum number of rows of each kind, so that other calls wait only briefly. */
  readonly rowsMax: number
}

/** The result of a purge. */
export interface PurgeResult {
  /** Rows that were deleted or expired; zero once nothing is left to purge. */
  readonly rows: number
  /** Of those, deliveries that expired. The same destination and reason may occur more than once. */
  readonly expired: readonly GivenUpDeliveries[]
}

/** Numbers of ended deliveries, by state. */
export type EndedCounts = Readonly<Record<'delivered' | 'failed' | 'expired', number>>

/** The figures of a store, to check against one another. */
export interface StoreAudit {
  /** The ledger. */
  readonly ledger: DeliveryLedger
  /** Deliveries in the store, counted one by one. */
  readonly counted: EndedCounts & { readonly pending: number }
  /** Deliveries that were purged. */
  readonly purged: EndedCounts
  /** Deliveries whose text is missing. */
  readonly withoutBody: number
}

/**
 * The log of deliveries, for the delivering process and for others beside it. The rules of the DeliveryStore
 * port hold.
 */
export interface DeliveryLog {
  /** Lists the deliveries that match the filter, highest id first. */
  list(request: ListRequest): Promise<readonly LoggedDelivery[]>
  /** Reads one delivery with its text and its requests; undefined if there is none. */
  story(key: DeliveryKey): Promise<DeliveryStory | undefined>
  /**
   * Makes matching deliveries due at once in the lane `manual`, with a new retry window and without holds.
   * Takes those that failed, expired, or wait for a retry. Skips those that ended or were first tried after
   * `nowMs`, so that repeated calls with the same `nowMs` never retry a delivery that failed again meanwhile.
   *
   * @returns how many were retried; fewer than `limit` once none is left
   */
  retry(request: RetryRequest): Promise<number>
  /**
   * Ends matching pending deliveries as `failed`, with the reason `discarded`. They can be retried like any
   * other failure. Leased deliveries are left alone. If another process delivers from a file, its leases are
   * not visible here: a delivery that it still sends counts as delivered.
   *
   * @returns how many ended; fewer than `limit` once none is left
   */
  discard(request: DiscardRequest): Promise<number>
  /**
   * Deletes old rows. The ledger keeps its totals. Deliveries whose retry window is over at `nowMs` expire as
   * `window_over`. Leased deliveries stay.
   */
  purge(request: PurgeRequest): Promise<PurgeResult>
  /** Reads the ledger and counts the rows, both at one moment. */
  audit(): Promise<StoreAudit>
  /** Closes the log. Idempotent. */
  close(): Promise<void>
}
