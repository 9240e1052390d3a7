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
   * Fails it at once, as `backlog_full`, where that many deliveries of the destination are pending.
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
  /** Whom it is about; null where only an anonymousId is known. */
  readonly userId: string | null
  /** On alias the id that it replaces, which is the same user's; absent on everything else. */
  readonly previousId?: string | undefined
  /** One per destination that gets it; none when it is filtered. */
  readonly deliveries: readonly NewDelivery[]
}

/** What became of an event that was added. */
export type AddOutcome = 'routed' | 'filtered' | 'duplicate' | 'suppressed'

/** An endpoint that a delivery does not ask. */
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
  /** Tells this lease of the delivery from every other. Only the engine reads it. */
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
  /** Given back, its round not made or cut off by our own side: nothing counted, same lane. */
  | { readonly kind: 'returned'; readonly dueAtMs: number }
)

/** The end of the lease of a delivery. */
export type Settlement = LeaseEnd & { readonly delivery: LeasedDelivery }

/** How many deliveries of one destination may be given out. */
export interface Room {
  /** The destination. */
  readonly destinationId: string
  /** Upper bound of the answer. */
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
  /** Milliseconds since 1970; in the past when it is due. */
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
  /** The deliveries to hand over. A destination is listed once at most. */
  readonly handOver: readonly Room[]
}

/** What became of a batch that was added. */
export interface AddResult {
  /** What became of each event, in order. */
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
 * Where deliveries wait: the port that the delivery room owns and every engine implements.
 *
 * A store has no clock: all times come in, in milliseconds since 1970. Every method takes one object,
 * is one round trip over a batch, and rejects with EvrouteError `store_closed` after `close()`.
 * `test/conformance/` has the suite that every engine passes.
 */
export interface DeliveryStore extends DeliveryLog {
  /**
   * Stores events and their deliveries, all or nothing, and updates the ledger. Resolves once they are as
   * durable as the engine makes them. A full engine makes the caller wait.
   *
   * Deliveries with room at the caller are handed over at once, leased, in the order of the events. The rest
   * waits in the lane `first`.
   */
  add(batch: AddRequest): Promise<AddResult>
  /** Leases deliveries that are due, oldest due first within a lane, then lowest id. */
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
  /** When the first delivery of each lane of these destinations can be claimed; none for an empty lane. */
  nextDue(request: { readonly destinationIds: readonly string[] }): Promise<readonly DueTime[]>
  /**
   * The ledger: every event that was added and every delivery that was made of it; where a destination
   * is named, its deliveries only.
   */
  ledger(request?: { readonly destinationId: string }): Promise<DeliveryLedger>
}
