import { elapsedTime, type Clock } from '../runtime/index.ts'
import type { DestinationQueue, Line } from './destination-queue.ts'
import type { LeaseStart, Prefetch } from './prefetch.ts'
import type {
  AddRequest,
  AddResult,
  LeasedDelivery,
  NewEvent,
  NewLease,
  Room,
} from './store-port.ts'
import type { WaitingTimes } from './waiting-times.ts'

/** Room that is reserved for the deliveries of an add, and the queue that will receive them. */
export interface KeptRoom extends Room {
  /** The queue that will receive the deliveries. */
  readonly queue: DestinationQueue
  /** The line by which they enter the queue. */
  readonly line: Line
}

/** An add in progress, without its events. */
export interface Addition {
  /** The source of the events. */
  readonly sourceId: string
  /** For each destination, the positions of the events with a delivery to it. */
  readonly positions: ReadonlyMap<string, readonly number[]>
  /** How many new deliveries the store may hand over. */
  readonly handOver: readonly KeptRoom[]
  /** When the leases of these deliveries begin. */
  readonly start: LeaseStart
}

/** The deliveries that the store handed over, by destination. */
export type HandedOver = ReadonlyMap<string, readonly LeasedDelivery[]>

/** Options of {@link HandOvers}. */
export interface HandOversOptions {
  /** The clock that decides whether endpoints are blocked. */
  readonly clock: Clock
  /** The queues that take the deliveries, by destination id. */
  readonly queues: ReadonlyMap<string, DestinationQueue>
  /** The known due times of waiting deliveries. */
  readonly times: WaitingTimes
  /** Limits the leased deliveries of all destinations together. */
  readonly prefetch: Prefetch
  /** Whether no more deliveries are to be started. */
  readonly isStopped: () => boolean
}

/** Decides how many new deliveries the store hands over to the dispatcher while adding them, without a claim. */
export class HandOvers {
  readonly #options: HandOversOptions

  constructor(options: HandOversOptions) {
    this.#options = options
  }

  /** Plans which new deliveries the store is to hand over. */
  plan(events: readonly NewEvent[]): Addition {
    const { clock, isStopped } = this.#options
    const sourceId = events[0]?.sourceId ?? ''
    const positions = positionsOf(events)
    const handOver = isStopped() ? [] : this.#roomFor(positions, sourceId)
    const start = { atMs: clock.nowMs(), elapsedMs: elapsedTime(clock) }
    return { sourceId, positions, handOver, start }
  }

  /**
   * Returns how many new deliveries the store may hand over to each destination: as many as there is room for if
   * no earlier deliveries are waiting in the store. If a destination has several sources, new deliveries from a
   * source with less than its share of the backlog may go ahead of the waiting ones.
   */
  #roomFor(positions: Addition['positions'], sourceId: string): readonly KeptRoom[] {
    const { clock, queues, times, prefetch } = this.#options
    const nowMs = clock.nowMs()
    const part = prefetch.partOf(Math.max(positions.size, times.waitedFor.size))
    let { room } = prefetch
    return Array.from(positions).flatMap(([destinationId, { length: count }]) => {
      const queue = queues.get(destinationId)
      if (queue === undefined) return []
      const isEmpty = times.isEmpty(destinationId, 'first')
      if (!isEmpty && !isShared(queue)) return []
      const line = isEmpty ? 'first' : 'ahead'
      const free = isEmpty ? queue.room('first', nowMs, part) : roomAhead(queue, sourceId, nowMs)
      // Reserve no more room than needed: concurrent adds may need the rest.
      const deliveriesMax = Math.min(free, count, room)
      room -= deliveriesMax
      if (isEmpty) queue.backlog.clear()
      return deliveriesMax > 0 ? [{ destinationId, deliveriesMax, queue, line }] : []
    })
  }

  /** Notes how many deliveries the store has kept, for each destination that several sources share. */
  noteKept(
    { sourceId, positions }: Addition,
    { outcomes, refused }: AddResult,
    handedOver: HandedOver,
  ): void {
    for (const [destinationId, events] of positions) {
      const queue = this.#options.queues.get(destinationId)
      if (queue === undefined || !isShared(queue)) continue
      let kept = -(handedOver.get(destinationId)?.length ?? 0)
      for (const position of events) if (outcomes[position] === 'routed') kept++
      for (const full of refused) if (full.destinationId === destinationId) kept -= full.deliveries
      queue.backlog.add(sourceId, kept)
    }
  }
}

/** Makes the deliveries that were leased as a batch was added. They were never attempted. */
export function leasedOf(
  { nowMs, events, traceparent }: AddRequest,
  leases: readonly NewLease[],
): readonly LeasedDelivery[] {
  return leases.flatMap(({ eventPlace, place, id, destinationId, lease, leasedUntilMs }) => {
    const event = events[eventPlace]
    const delivery = event?.deliveries[place]
    if (event === undefined || delivery === undefined) return []
    return {
      id,
      lease,
      destinationId,
      messageId: event.messageId,
      type: event.type,
      body: delivery.body,
      traceparent,
      acceptedAtMs: nowMs,
      lane: 'first' as const,
      dueAtMs: nowMs,
      attempts: 0,
      windowAttempts: 0,
      firstAttemptAtMs: null,
      holds: noHolds,
      leasedUntilMs,
    }
  })
}

const noHolds = Object.freeze([])

function isShared({ destination }: DestinationQueue): boolean {
  return destination.sourceIds.length > 1
}

function roomAhead(queue: DestinationQueue, sourceId: string, nowMs: number): number {
  return queue.backlog.isQuiet(sourceId) ? queue.roomAhead(nowMs) : 0
}

function positionsOf(events: readonly NewEvent[]): Addition['positions'] {
  const positions = new Map<string, number[]>()
  events.forEach(({ deliveries }, position) => {
    for (const { destinationId } of deliveries) {
      const known = positions.get(destinationId)
      if (known === undefined) positions.set(destinationId, [position])
      else known.push(position)
    }
  })
  return positions
}
