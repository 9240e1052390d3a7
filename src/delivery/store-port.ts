import type {
  DeliveryLedger,
  EventType,
  GivenUpDeliveries,
  Lane,
  RequestRecord,
} from '../model/index.ts'
import type { DeliveryLog } from './log-port.ts'

/** One webhook to be delivered to one destination. */
export interface NewDelivery {
  /** The destination. */
  readonly destinationId: string
  /** The exact text to send. */
  readonly body: string
  /**
   * If this many deliveries to the destination are already pending, the delivery fails at once as `backlog_full`.
   * Undefined for no limit.
   */
  readonly backlogMax?: number | undefined
}

/** An accepted event, with a delivery for each destination that it was routed to. */
export interface NewEvent {
  /** The source of the event. Together with the messageId, it is the key for deduplication. */
  readonly sourceId: string
  /** Identifies the event within its source. */
  readonly messageId: string
  /** The type of the event. */
  readonly type: EventType
  /** The id of the event's user; null if only an anonymousId is known. */
  readonly userId: string | null
  /** In an alias, the user's earlier id, which it replaces; absent from all other events. */
  readonly previousId?: string | undefined
  /** One per destination that gets the event; empty if none does. */
  readonly deliveries: readonly NewDelivery[]
}

/** The outcome of adding an event. */
export type AddOutcome = 'routed' | 'filtered' | 'duplicate' | 'suppressed'

/** A hold: an endpoint that gets no requests for one delivery. */
export interface EndpointHold {
  /** The endpoint. */
  readonly url: string
  /**
   * The end of the hold, in milliseconds since 1970; null if it is permanent, because the endpoint refused
   * the delivery.
   */
  readonly untilMs: number | null
}

/** The progress of a delivery. The fields about the retry window change only when a retry is scheduled. */
export interface DeliveryProgress {
  /** Rounds so far, in all retry windows together. */
  readonly attempts: number
  /**
   * Rounds in the current retry window that count for the retry schedule. A manual retry begins a new window.
   */
  readonly windowAttempts: number
  /** When the first round in the window started, in milliseconds since 1970; null until a retry is scheduled. */
  readonly firstAttemptAtMs: number | null
  /** Endpoints that get no more requests for the delivery, until a time or for good. */
  readonly holds: readonly EndpointHold[]
}

/** The lease of a delivery. A settlement ends it. */
export interface Lease {
  /** Identifies the delivery among those of its destination. Later deliveries have greater ids. */
  readonly id: number
  /** The destination. */
  readonly destinationId: string
  /** Distinguishes this lease from all others of the delivery. Only the engine reads it. */
  readonly lease: number
  /** Why the delivery is due. */
  readonly lane: Lane
}

/** A delivery that the dispatcher has leased and must settle. */
export interface LeasedDelivery extends Lease, DeliveryProgress {
  /** When the event was accepted, in milliseconds since 1970. */
  readonly acceptedAtMs: number
  /** The messageId of the event. */
  readonly messageId: string
  /** The type of the event. */
  readonly type: EventType
  /** The exact text to send. */
  readonly body: string
  /** The trace context of the request that brought the event, if it had one. */
  readonly traceparent?: string | undefined
  /** When it became due, in milliseconds since 1970. */
  readonly dueAtMs: number
  /**
   * When other processes may lease the delivery, in milliseconds since 1970; absent if leases never expire. A
   * lease is long enough that a request fits into its last third, however much clocks differ.
   */
  readonly leasedUntilMs?: number | undefined
}

/**
 * The request of a first try that succeeded. Most deliveries need no other request, so the row of the delivery
 * stores it.
 */
export type FirstTry = Pick<RequestRecord, 'url' | 'atMs' | 'durationMs' | 'status' | 'excerpt'>

/** A lease and how it ends. */
export type LeaseEnd = {
  /** The lease that ends. */
  readonly delivery: Lease
} & (
  | {
      readonly kind: 'delivered'
      readonly attempts: number
      /** Only for the first attempt in the lane `first`. The other requests are in {@link SettleRequest}. */
      readonly firstTry?: FirstTry
    }
  | {
      readonly kind: 'failed' | 'expired'
      /** Rounds so far, in all retry windows together. */
      readonly attempts: number
      readonly reason: string
    }
  /** The delivery waits in the lane `retry` from now on. */
  | {
      readonly kind: 'retry'
      readonly dueAtMs: number
      /** The last moment at which a retry may start, in milliseconds since 1970. */
      readonly expiresAtMs: number
      readonly progress: DeliveryProgress
      /** Why the round failed. */
      readonly reason: string
    }
  /**
   * The delivery returns to its lane: its round was not made, or our side interrupted it. No attempt is
   * counted.
   */
  | { readonly kind: 'returned'; readonly dueAtMs: number }
)

/** How the lease of a delivery ends, with the delivery itself. */
export type Settlement = LeaseEnd & { readonly delivery: LeasedDelivery }

/** How many deliveries of one destination may be leased. */
export interface Room {
  /** The destination. */
  readonly destinationId: string
  /** Maximum number of deliveries. */
  readonly deliveriesMax: number
}

/** How many deliveries of one lane may be claimed. */
export interface Share extends Room {
  /** The lane. */
  readonly lane: Lane
  /** Only deliveries due at this moment or before, in milliseconds since 1970. */
  readonly dueByMs: number
}

/** When the first delivery of a lane can be claimed. */
export interface DueTime {
  /** The destination. */
  readonly destinationId: string
  /** The lane. */
  readonly lane: Lane
  /** In milliseconds since 1970; in the past if it is due. */
  readonly dueAtMs: number
}

/** A batch of events to add. */
export interface AddRequest {
  /** When the events were accepted. */
  readonly nowMs: number
  /** An event is a duplicate if its messageId was already added at this moment or later. */
  readonly seenSinceMs: number
  /** The events. */
  readonly events: readonly NewEvent[]
  /** How many deliveries to lease and return at once. Each destination is listed at most once. */
  readonly handOver: readonly Room[]
  /** The trace context of the request that brought the events, to store with each delivery. */
  readonly traceparent?: string | undefined
}

/** A delivery that was leased as it was added. The caller of `add` has its other fields. */
export interface NewLease extends Pick<Lease, 'id' | 'destinationId' | 'lease'> {
  /** The index of its event in the batch. */
  readonly eventPlace: number
  /** Its index among the deliveries of the event. */
  readonly place: number
  /** See {@link LeasedDelivery}. */
  readonly leasedUntilMs?: number | undefined
}

/** The outcome of adding a batch. */
export interface AddResult {
  /** The outcome of each event, in order. */
  readonly outcomes: readonly AddOutcome[]
  /** The deliveries that were leased at once, in the order of the events. */
  readonly leased: readonly NewLease[]
  /** Deliveries that failed because the backlog of their destination is full. */
  readonly refused: readonly GivenUpDeliveries[]
}

/** A request to lease deliveries. */
export interface ClaimRequest {
  /** When the leases begin. */
  readonly nowMs: number
  /** How many deliveries to lease from each lane. */
  readonly shares: readonly Share[]
}

/** A batch of leases to end and of requests to write to the log. */
export interface SettleRequest {
  /** When the leases end. */
  readonly nowMs: number
  /** How the leases end. */
  readonly settlements: readonly Settlement[]
  /** The requests that were sent, without the first tries in `settlements`. */
  readonly requests: readonly RequestRecord[]
}

/**
 * Where deliveries wait. The delivery room owns this port, and every engine implements it.
 *
 * A store reads no clock: callers pass all times, in milliseconds since 1970. Every method takes one object, is
 * one round trip even for a batch, and rejects with EvrouteError `store_closed` after `close()`. Every engine
 * passes the suite in `test/conformance/`.
 */
export interface DeliveryStore extends DeliveryLog {
  /**
   * Stores events and their deliveries, all or nothing, and updates the ledger. Resolves once they are as durable
   * as the engine makes them. A full engine makes the caller wait.
   *
   * Leases and returns as many deliveries as `handOver` allows, in the order of the events. The others wait in the
   * lane `first`.
   */
  add(batch: AddRequest): Promise<AddResult>
  /** Leases due deliveries: within a lane, those that became due earliest, then those with the lowest ids. */
  claim(request: ClaimRequest): Promise<readonly LeasedDelivery[]>
  /**
   * Ends leases and writes requests to the log, all or nothing. Settling a lease that is already settled changes
   * nothing. An expired lease can still be settled until another process leases the delivery. After that it can
   * still be settled as `delivered`, until a different settlement takes effect. A request is written even if its
   * settlement changes nothing, unless its delivery was purged.
   *
   * @returns the settlements that took effect
   */
  settle(batch: SettleRequest): Promise<readonly Settlement[]>
  /**
   * Probes writability with a throwaway row.
   *
   * @throws StoreUnusableError
   */
  checkWritable(): Promise<void>
  /**
   * Returns when the first delivery in each lane of these destinations can be claimed. Empty lanes are left out.
   */
  nextDue(request: { readonly destinationIds: readonly string[] }): Promise<readonly DueTime[]>
  /**
   * Reads the ledger: the counts of all added events and their deliveries. If a destination is given, only the
   * counts of its deliveries.
   */
  ledger(request?: { readonly destinationId: string }): Promise<DeliveryLedger>
  /** Lists the destinations with pending deliveries, whether they are still configured or not, by id. */
  backlogs(): Promise<readonly Backlog[]>
}

/** The pending deliveries to a destination. */
export interface Backlog {
  readonly destinationId: string
  /** The number of pending deliveries, including leased ones. */
  readonly pending: number
}
