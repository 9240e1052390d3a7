import type {
  DeliveryLedger,
  EventType,
  GivenUpDeliveries,
  Lane,
  RequestRecord,
} from '../model/index.ts'
import type { DeliveryKey } from './delivery-id.ts'
import type { DeliveryLog, EndedCounts } from './log-port.ts'

/** A webhook for one destination. */
export interface NewDelivery {
  readonly destinationId: string
  /** The exact text to send. */
  readonly body: string
  /** If this many deliveries to the destination are already pending, this one fails at once as `backlog_full`. */
  readonly backlogMax?: number | undefined
}

/** An accepted event, with a delivery for each destination that it was routed to. */
export interface NewEvent {
  /** Together with the messageId, the key for deduplication. */
  readonly sourceId: string
  readonly messageId: string
  readonly type: EventType
  /** The id of the event's user; null if only an anonymousId is known. */
  readonly userId: string | null
  /** The earlier id that an alias replaces; absent from all other events. */
  readonly previousId?: string | undefined
  readonly deliveries: readonly NewDelivery[]
}

/** What became of an added event. Only a `routed` one has deliveries. */
export type AddOutcome = 'routed' | 'filtered' | 'duplicate' | 'suppressed'

/** A hold: a delivery may not be sent to an endpoint. */
export interface EndpointHold {
  readonly url: string
  /** The end of the hold, in milliseconds since 1970; null if permanent, because the endpoint refused the delivery. */
  readonly untilMs: number | null
}

/** The progress of a delivery. The fields about the retry window change only when a retry is scheduled. */
export interface DeliveryProgress {
  /** Rounds so far, in all retry windows together. */
  readonly attempts: number
  /** Rounds in the current retry window that count for the retry schedule. A manual retry begins a new window. */
  readonly windowAttempts: number
  /** When the first round in the window started, in milliseconds since 1970; null until a retry is scheduled. */
  readonly firstAttemptAtMs: number | null
  /** Endpoints that get no requests for the delivery, either for good or until a time. */
  readonly holds: readonly EndpointHold[]
}

/** The lease of a delivery. A settlement ends it. */
export interface Lease extends DeliveryKey {
  /** Distinguishes this lease from all others of the delivery. Only engines read it. */
  readonly lease: number
  readonly lane: Lane
}

/** A delivery that the dispatcher has leased and must settle. */
export interface LeasedDelivery extends Lease, DeliveryProgress {
  readonly acceptedAtMs: number
  readonly messageId: string
  readonly type: EventType
  readonly body: string
  /** The trace context of the request that brought the event, if it had one. */
  readonly traceparent?: string | undefined
  readonly dueAtMs: number
  /**
   * When other processes may lease the delivery, in milliseconds since 1970; absent if leases never expire. The last
   * third of a lease is longer than a request and a difference of clocks, so requests start only before it.
   */
  readonly leasedUntilMs?: number | undefined
}

/** The request of a first try that succeeded. Most deliveries need no other, so it is stored in the delivery's row. */
export type FirstTry = Pick<RequestRecord, 'url' | 'atMs' | 'durationMs' | 'status' | 'excerpt'>

/** How a lease ends. */
export type LeaseEnd = {
  readonly delivery: Lease
} & (
  | {
      readonly kind: 'delivered'
      readonly attempts: number
      /** Only if the lane is `first` and the first attempt succeeded. {@link SettleRequest} has all other requests. */
      readonly firstTry?: FirstTry
    }
  | {
      readonly kind: 'failed' | 'expired'
      readonly attempts: number
      readonly reason: string
    }
  /** The delivery moves to the lane `retry`. */
  | {
      readonly kind: 'retry'
      readonly dueAtMs: number
      /** When the retry window ends, in milliseconds since 1970. */
      readonly expiresAtMs: number
      readonly progress: DeliveryProgress
      readonly reason: string
    }
  /** The delivery returns to its lane without counting an attempt: this process sent no request, or aborted it. */
  | { readonly kind: 'returned'; readonly dueAtMs: number }
)

/** A {@link LeaseEnd} that has all fields of the delivery. */
export type Settlement = LeaseEnd & { readonly delivery: LeasedDelivery }

/** How many deliveries of one destination may be leased. */
export interface Room {
  readonly destinationId: string
  readonly deliveriesMax: number
}

/** How many deliveries of one lane may be claimed. */
export interface Share extends Room {
  readonly lane: Lane
  /** Only deliveries due at this time or earlier, in milliseconds since 1970. */
  readonly dueByMs: number
}

/** When the first delivery in a lane can be claimed. */
export interface DueTime {
  readonly destinationId: string
  readonly lane: Lane
  /** In milliseconds since 1970; in the past if it is due. */
  readonly dueAtMs: number
}

/** A batch of events to add. */
export interface AddRequest {
  /** When the events were accepted. */
  readonly nowMs: number
  /** An event is a duplicate if its messageId was already added at this time or later. */
  readonly seenSinceMs: number
  readonly events: readonly NewEvent[]
  /** How many of the new deliveries to lease and return immediately. Each destination is listed at most once. */
  readonly handOver: readonly Room[]
  /** The trace context of the request that brought the events, to store with each delivery. */
  readonly traceparent?: string | undefined
}

/** A delivery that was leased as it was added. The caller of `add` knows its other fields. */
export interface NewLease extends Pick<
  LeasedDelivery,
  'id' | 'destinationId' | 'lease' | 'leasedUntilMs'
> {
  readonly eventIndex: number
  /** The index among the deliveries of the event. */
  readonly deliveryIndex: number
}

/** What became of a batch. Deliveries that were neither leased nor refused wait in the store. */
export interface AddResult {
  /** The outcome of each event, in order. */
  readonly outcomes: readonly AddOutcome[]
  /** The deliveries that were leased immediately, in the order of the events. */
  readonly leased: readonly NewLease[]
  /** Deliveries that failed because the backlog of their destination is full. */
  readonly refused: readonly GivenUpDeliveries[]
}

/** A request to lease deliveries. */
export interface ClaimRequest {
  /** When the leases begin. */
  readonly nowMs: number
  readonly shares: readonly Share[]
}

/** A query for the due times of some destinations. */
export interface DueRequest {
  /** The current time. The answer leaves out deliveries that other processes have leased until a later time. */
  readonly nowMs: number
  readonly destinationIds: readonly string[]
}

/** Leases to end, and records of requests to add to the log. */
export interface SettleRequest {
  /** The current time. It becomes the time at which the leases ended. */
  readonly nowMs: number
  readonly settlements: readonly Settlement[]
  /** The requests that were sent, except the first tries that `settlements` have. */
  readonly requests: readonly RequestRecord[]
}

/** The limits for a purge. All times are in milliseconds since 1970. */
export interface PurgeRequest {
  /** The time of the purge. Deliveries that expire get it as `settledAtMs`. */
  readonly nowMs: number
  /** Delete deliveries that were delivered before this time. */
  readonly deliveredBeforeMs: number
  /** Delete deliveries that failed or expired before this time. */
  readonly failedBeforeMs: number
  /** Expire untried deliveries that were due before this time, with the reason `abandoned`. */
  readonly abandonedBeforeMs: number
  /** Forget messageIds that were added before this time. */
  readonly messageIdsBeforeMs: number
  /** Maximum number of rows of each kind per call, so that other calls wait only briefly. */
  readonly rowsMax: number
}

/** What a purge deleted and expired. */
export interface PurgeResult {
  /** Number of rows that were deleted or expired; 0 once nothing is left to purge. */
  readonly rows: number
  /** The deliveries that expired. A destination and reason may occur more than once. */
  readonly expired: readonly GivenUpDeliveries[]
}

/**
 * Where deliveries wait: a port. Every engine implements it and passes the suite in `test/conformance/`.
 *
 * A store reads no clock: callers pass all times, in milliseconds since 1970. Every method takes one object, is one
 * round trip even for a batch, and rejects with EvrouteError `store_closed` after `close()`.
 */
export interface DeliveryStore extends DeliveryLog {
  /**
   * Stores events and their deliveries, all or nothing, and updates the ledger. Waits while a store in memory is full.
   * Resolves once they are as durable as the engine makes them.
   *
   * Leases and returns as many deliveries as `handOver` allows, in the order of the events. The rest wait in the lane
   * `first`.
   */
  add(batch: AddRequest): Promise<AddResult>
  /** Leases due deliveries of each lane, ordered by due time and then by id. */
  claim(request: ClaimRequest): Promise<readonly LeasedDelivery[]>
  /**
   * Ends leases and writes requests to the log, all or nothing. Settling a settled lease changes nothing. An expired
   * lease can be settled until another process leases the delivery. After that, only `delivered` takes effect, until a
   * settlement ends the delivery or counts an attempt.
   *
   * Requests are written even if their settlement changes nothing. Requests of purged deliveries are dropped.
   *
   * @returns the settlements that took effect
   */
  settle(batch: SettleRequest): Promise<readonly Settlement[]>
  /**
   * Deletes old rows; the ledger keeps its totals. Expires deliveries whose retry window is over at `nowMs`, as
   * `window_over`. Leased deliveries are left alone.
   */
  purge(request: PurgeRequest): Promise<PurgeResult>
  /** Probes writability with a throwaway row. Throws StoreUnusableError if the row cannot be written. */
  checkWritable(): Promise<void>
  /** Returns when the first delivery in each lane of these destinations can be claimed. Leaves out empty lanes. */
  nextDue(request: DueRequest): Promise<readonly DueTime[]>
  /** Reads the ledger. With a `destinationId`, counts only the deliveries to that destination, but all events. */
  ledger(request?: { readonly destinationId: string }): Promise<DeliveryLedger>
  /** Counts the deliveries to every destination that ever had one, even if no longer configured. Sorted by id. */
  destinationCounts(): Promise<readonly DestinationCounts[]>
}

/** The pending deliveries to a destination. */
export interface Backlog {
  readonly destinationId: string
  /** Includes leased deliveries. */
  readonly pending: number
}

/** The ledger of one destination's deliveries. */
export interface DestinationCounts extends Backlog, EndedCounts {
  readonly deliveries: number
}
