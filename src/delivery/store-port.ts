import type { DeliveryLedger, EventType, RequestRecord } from '../model/index.ts'

/** One webhook to be delivered to one destination. */
export interface NewDelivery {
  /** The destination. */
  readonly destinationId: string
  /** The exact text to send. */
  readonly body: string
}

/** An accepted event with the deliveries that routing made of it. */
export interface NewEvent {
  /** Who sent it; with the messageId the deduplication key. */
  readonly sourceId: string
  /** Identifies it within its source. */
  readonly messageId: string
  /** What it is. */
  readonly type: EventType
  /** One per destination that gets it; none when it is filtered. */
  readonly deliveries: readonly NewDelivery[]
}

/** What became of an event that was added. */
export type AddOutcome = 'routed' | 'filtered' | 'duplicate' | 'suppressed'

/** A delivery that the dispatcher holds until it settles it. */
export interface LeasedDelivery {
  /** Identifies it among the deliveries of its destination. */
  readonly id: number
  /** The destination. */
  readonly destinationId: string
  /** The event. */
  readonly messageId: string
  /** What the event is. */
  readonly type: EventType
  /** The exact text to send. */
  readonly body: string
  /** Rounds that were made before. */
  readonly attempts: number
  /** When the first round started, in milliseconds since 1970; null before it. */
  readonly firstAttemptAtMs: number | null
  /** Endpoints that failed for good and are not asked again. */
  readonly refusedUrls: readonly string[]
}

/** How a leased delivery ends its lease. */
export type Settlement = {
  /** The delivery as `claim` gave it out: it stands for that lease and no other. */
  readonly delivery: LeasedDelivery
} & (
  | { readonly kind: 'delivered'; readonly requests: readonly RequestRecord[] }
  | {
      readonly kind: 'failed' | 'expired'
      readonly reason: string
      readonly requests: readonly RequestRecord[]
    }
  | {
      readonly kind: 'retry'
      readonly dueAtMs: number
      readonly firstAttemptAtMs: number
      readonly refusedUrls: readonly string[]
      readonly requests: readonly RequestRecord[]
    }
  /** Given back, its round not made or cut off by our own side: due at once, and nothing counted. */
  | { readonly kind: 'returned' }
)

/** How many deliveries of one destination may be claimed. */
export interface Share {
  /** The destination. */
  readonly destinationId: string
  /** At the most so many. */
  readonly deliveriesMax: number
}

/**
 * Where deliveries wait: the port that the delivery room owns and every engine implements.
 *
 * A store has no clock: all times come in, in milliseconds since 1970. Every method takes one object,
 * is one round trip over a batch, and rejects with EvrouteError `store_closed` after `close()`.
 * `test/conformance/` has the suite that every engine passes.
 */
export interface DeliveryStore {
  /**
   * Takes events and their deliveries in, all or nothing, and writes the ledger. Resolves once they
   * are as durable as the engine makes them; an engine that is full lets the caller wait.
   *
   * @returns what became of each event, in order
   */
  add(batch: {
    readonly nowMs: number
    readonly events: readonly NewEvent[]
  }): Promise<readonly AddOutcome[]>
  /** Leases deliveries that are due, oldest due first within a destination. */
  claim(request: {
    readonly nowMs: number
    readonly shares: readonly Share[]
  }): Promise<readonly LeasedDelivery[]>
  /** Ends leases; settling a lease that has ended already changes nothing. */
  settle(batch: {
    readonly nowMs: number
    readonly settlements: readonly Settlement[]
  }): Promise<void>
  /** When the next delivery of these destinations can be claimed; undefined when none is waiting. */
  nextDueMs(request: { readonly destinationIds: readonly string[] }): Promise<number | undefined>
  /**
   * How many deliveries of these destinations are pending or leased: for who must know of a few
   * destinations that all is done, which neither the ledger, that counts all of them, nor `nextDueMs`,
   * that passes over what is leased, can tell.
   */
  pending(request: { readonly destinationIds: readonly string[] }): Promise<number>
  /** The books: every event that was added and every delivery that was made of it. */
  ledger(): Promise<DeliveryLedger>
  /** Lets go of everything; idempotent. */
  close(): Promise<void>
}
