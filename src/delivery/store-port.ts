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
   * Fails the delivery at once, as `backlog_full`, if this many deliveries of the destination are pending.
   * Undefined for no bound.
   */
  readonly backlogMax?: number | undefined
}

/** An accepted event with the deliveries that routing made of it. */
export interface NewEvent {
  /** The sender. With the messageId it is the key of deduplication. */
  readonly sourceId: string
  /** Identifies it within its source. */
  readonly messageId: string
  /** The type of the event. */
  readonly type: EventType
  /** The id of its user; null if only an anonymousId is known. */
  readonly userId: string | null
  /** The id that an alias replaces, which belongs to the same user; absent on all other events. */
  readonly previousId?: string | undefined
  /** One per destination that gets it; none when it is filtered. */
  readonly deliveries: readonly NewDelivery[]
}

/** The outcome of adding an event. */
export type AddOutcome = 'routed' | 'filtered' | 'duplicate' | 'suppressed'

/** An endpoint that is not asked for a delivery. */
export interface EndpointHold {
  /** The endpoint. */
  readonly url: string
  /**
   * The end of the hold, in milliseconds since 1970; null if it is permanent, because the endpoint refused
   * the delivery.
   */
  readonly untilMs: number | null
}

/** The progress of a delivery. The fields about the window refer to its last retry. */
export interface DeliveryProgress {
  /** Rounds that were made, over all. */
  readonly attempts: number
  /** Of those, rounds of the current retry window: a manual retry begins a new one. */
  readonly windowAttempts: number
  /** When the first round of the window started, in milliseconds since 1970; null as long as no retry was planned. */
  readonly firstAttemptAtMs: number | null
  /** Endpoints that are not asked. */
  readonly holds: readonly EndpointHold[]
}

/** The lease of a delivery: a settlement ends it. */
export interface Lease {
  /** Identifies the delivery among those of its destination; later ones have greater ids. */
  readonly id: number
  /** The destination. */
  readonly destinationId: string
  /** Distinguishes this lease from all others of the delivery. Only the engine reads it. */
  readonly lease: number
  /** Why it is due. */
  readonly lane: Lane
  /** When the event was accepted, in milliseconds since 1970. */
  readonly acceptedAtMs: number
  /** Rounds that were made before the lease, over all. */
  readonly attempts: number
}

/** A delivery that the dispatcher holds until it settles it. */
export interface LeasedDelivery extends Lease, DeliveryProgress {
  /** The event. */
  readonly messageId: string
  /** The type of the event. */
  readonly type: EventType
  /** The exact text to send. */
  readonly body: string
  /** The trace context of its event's request, if the request had one. */
  readonly traceparent?: string | undefined
  /** Since when it is due, in milliseconds since 1970. */
  readonly dueAtMs: number
  /**
   * When others may lease it, in milliseconds since 1970; absent where leases do not end by time. A lease
   * lasts so long that a request fits in its last third, however much clocks differ.
   */
  readonly leasedUntilMs?: number
}

/** The end of a lease. */
export type LeaseEnd = {
  /** The lease that ends. */
  readonly delivery: Lease
} & (
  | { readonly kind: 'delivered'; readonly attempts: number }
  | {
      readonly kind: 'failed' | 'expired'
      /** Rounds that were made, over all. */
      readonly attempts: number
      readonly reason: string
    }
  /** Waits in the lane `retry` from now on. */
  | {
      readonly kind: 'retry'
      readonly dueAtMs: number
      /** The last moment at which another round may start. */
      readonly expiresAtMs: number
      readonly progress: DeliveryProgress
      /** Why the round failed. */
      readonly reason: string
    }
  /** Returned to its lane, because its round was not made or our side interrupted it. Nothing is counted. */
  | { readonly kind: 'returned'; readonly dueAtMs: number }
)

/** The end of the lease of a delivery. */
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

/** Events to take in, as one batch. */
export interface AddRequest {
  /** When they were accepted. */
  readonly nowMs: number
  /** An event is a duplicate when its messageId was added at this moment or after. */
  readonly seenSinceMs: number
  /** The events. */
  readonly events: readonly NewEvent[]
  /** The room for deliveries to hand over. Each destination is listed at most once. */
  readonly handOver: readonly Room[]
  /** The trace context of the request that brought the events, to keep with each delivery. */
  readonly traceparent?: string | undefined
}

/** The outcome of adding a batch. */
export interface AddResult {
  /** The outcome of each event, in order. */
  readonly outcomes: readonly AddOutcome[]
  /** The deliveries that were handed over. */
  readonly leased: readonly LeasedDelivery[]
  /** Deliveries that failed because the backlog of their destination is full. */
  readonly refused: readonly GivenUpDeliveries[]
}

/** Deliveries to lease. */
export interface ClaimRequest {
  /** When the leases begin. */
  readonly nowMs: number
  /** How many of each lane. */
  readonly shares: readonly Share[]
}

/** Leases to end, and requests to write to the log, as one batch. */
export interface SettleRequest {
  /** When the leases end. */
  readonly nowMs: number
  /** How they end. */
  readonly settlements: readonly Settlement[]
  /** The requests that were sent. */
  readonly requests: readonly RequestRecord[]
}

/**
 * Where deliveries wait. The delivery room owns this port, and every engine implements it.
 *
 * A store has no clock: callers pass all times, in milliseconds since 1970. Every method takes one object, is
 * one round trip for a batch, and rejects with EvrouteError `store_closed` after `close()`. Every engine passes
 * the suite in `test/conformance/`.
 */
export interface DeliveryStore extends DeliveryLog {
  /**
   * Stores events and their deliveries, all or nothing, and updates the ledger. Resolves once they are as
   * durable as the engine makes them. A full engine makes the caller wait.
   *
   * Up to `handOver`, deliveries are leased and returned at once, in the order of the events. The rest wait in
   * the lane `first`.
   */
  add(batch: AddRequest): Promise<AddResult>
  /** Leases due deliveries: within a lane the oldest due first, then the lowest id. */
  claim(request: ClaimRequest): Promise<readonly LeasedDelivery[]>
  /**
   * Ends leases and writes requests to the log, together. Settling a lease that was settled changes nothing.
   * A lease that ended by time can be settled until another process leases the delivery; `delivered` also
   * counts after that, until another settlement takes effect. A request is written even if its settlement
   * changes nothing, unless its delivery was purged.
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
   * Returns when the first delivery of each lane of these destinations can be claimed. An empty lane is left
   * out.
   */
  nextDue(request: { readonly destinationIds: readonly string[] }): Promise<readonly DueTime[]>
  /**
   * Reads the ledger: the counts of all added events and their deliveries. With a destination, counts its
   * deliveries only.
   */
  ledger(request?: { readonly destinationId: string }): Promise<DeliveryLedger>
}
