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
  /** Whom it is about; null where only an anonymousId is known. */
  readonly userId: string | null
  /** Where it stands. */
  readonly state: LoggedState
  /** Why its next round is due, or its last one was. */
  readonly lane: Lane
  /** When the event was accepted, in milliseconds since 1970. */
  readonly acceptedAtMs: number
  /** When its next round is due; null unless it is pending. */
  readonly dueAtMs: number | null
  /** The last moment at which another round may start; null before a round failed. */
  readonly expiresAtMs: number | null
  /** When it came to its end; null while it is pending. */
  readonly settledAtMs: number | null
  /** Why it failed or expired, or why the last round of a pending one failed; null otherwise. */
  readonly reason: string | null
  /** How often it was retried by hand. */
  readonly manualRetries: number
}

/** A delivery with all that happened to it. */
export interface DeliveryStory extends LoggedDelivery {
  /** The exact text of the webhook. */
  readonly body: string
  /** Every request, in the order they started. */
  readonly requests: readonly RequestRecord[]
}

/** Which deliveries are meant: those that meet every condition that is there. */
export interface DeliveryFilter {
  /** Of this destination. */
  readonly destinationId?: string | undefined
  /** With this id. */
  readonly id?: number | undefined
  /** Of this event. */
  readonly messageId?: string | undefined
  /** In one of these states. */
  readonly states?: readonly LoggedState[] | undefined
  /** Of one of these types. */
  readonly types?: readonly EventType[] | undefined
  /** About this user. */
  readonly userId?: string | undefined
  /** Accepted at this moment or after, in milliseconds since 1970. */
  readonly sinceMs?: number | undefined
  /** Accepted before this moment. */
  readonly untilMs?: number | undefined
}

/** A page of deliveries. */
export interface ListRequest {
  /** Which are meant. */
  readonly filter: DeliveryFilter
  /** Upper bound of the answer. */
  readonly limit: number
  /** Only those with a lower id: the last one of the page before. */
  readonly beforeId?: number | undefined
}

/** Deliveries to retry by hand. */
export interface RetryRequest {
  /** When they are due, in milliseconds since 1970; what failed later is left alone. */
  readonly nowMs: number
  /** Which are meant. */
  readonly filter: DeliveryFilter
  /** Upper bound of how many are retried. */
  readonly limit: number
}

/** Pending deliveries to end without sending them. */
export interface DiscardRequest {
  /** When they end, in milliseconds since 1970. Deliveries that were accepted later are left alone. */
  readonly nowMs: number
  /** Which are meant. */
  readonly filter: DeliveryFilter
  /** Upper bound of how many end. */
  readonly limit: number
}

/** Ages of the rows to delete: moments, in milliseconds since 1970. */
export interface PurgeRequest {
  /** Now: the end time of deliveries that this purge expires. */
  readonly nowMs: number
  /** Deliveries that were delivered before it go. */
  readonly deliveredBeforeMs: number
  /** Deliveries that failed or expired before it go. */
  readonly failedBeforeMs: number
  /** Deliveries that wait for an attempt since before it, and were not tried since, expire as `abandoned`. */
  readonly abandonedBeforeMs: number
  /** messageIds that were added before it are forgotten. */
  readonly messageIdsBeforeMs: number
  /** Upper bound of rows of each kind, so that other calls wait only briefly. */
  readonly rowsMax: number
}

/** The result of a purge. */
export interface PurgeResult {
  /** Rows that it dealt with; zero once nothing is left to purge. */
  readonly rows: number
  /** Of those, deliveries that expired; a destination and a reason may stand in it more than once. */
  readonly expired: readonly GivenUpDeliveries[]
}

/** Deliveries that came to their end, by how. */
export type EndedCounts = Readonly<Record<'delivered' | 'failed' | 'expired', number>>

/** The figures and contents of a store. */
export interface StoreAudit {
  /** The ledger. */
  readonly ledger: DeliveryLedger
  /** Deliveries that are there, counted one by one. */
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
  /** Deliveries that the filter names, those with the greatest ids first. */
  list(request: ListRequest): Promise<readonly LoggedDelivery[]>
  /** One delivery with its text and its requests; undefined when there is none. */
  story(key: DeliveryKey): Promise<DeliveryStory | undefined>
  /**
   * Makes deliveries due at once in the lane `manual`, with a new retry window and without holds. It takes
   * those of the filter that failed, expired, or wait for a retry. It leaves deliveries alone that ended or
   * were first tried after `nowMs`. So repeated calls with the same `nowMs` never retry a delivery that
   * failed again meanwhile.
   *
   * @returns how many were retried; fewer than `limit` once none is left
   */
  retry(request: RetryRequest): Promise<number>
  /**
   * Ends pending deliveries of the filter as `failed`, with the reason `discarded`: they can be retried
   * like any other failure. Leased deliveries are left alone. Beside a process that delivers from a file
   * leases are not known: a delivery that is sent after all counts as delivered.
   *
   * @returns how many ended: fewer than `limit` once none is left
   */
  discard(request: DiscardRequest): Promise<number>
  /**
   * Deletes old rows. The ledger keeps its totals. Deliveries whose retry window is over at `nowMs` expire as
   * `window_over`. Leased deliveries stay.
   */
  purge(request: PurgeRequest): Promise<PurgeResult>
  /** The ledger and the counted rows at one moment. */
  audit(): Promise<StoreAudit>
  /** Lets go of everything; idempotent. */
  close(): Promise<void>
}
