import { elapsedTime } from '../runtime/index.ts'
import type { DestinationQueue, Line } from './destination-queue.ts'
import type { DispatcherParts } from './dispatcher-parts.ts'
import type { LeaseStart } from './prefetch.ts'
import type {
  AddRequest,
  AddResult,
  LeasedDelivery,
  NewEvent,
  NewLease,
  Room,
} from './store-port.ts'

/** Room that a queue reserves for deliveries of one add. */
export interface ReservedRoom extends Room {
  readonly queue: DestinationQueue
  readonly line: Line
}

/** An add in progress, without its events. */
export interface Addition {
  readonly sourceId: string
  /** For each destination, the positions of the events to deliver to it. */
  readonly positions: ReadonlyMap<string, readonly number[]>
  readonly handOver: readonly ReservedRoom[]
  readonly start: LeaseStart
}

/** The deliveries that the store handed over, by destination. */
export type HandedOver = ReadonlyMap<string, readonly LeasedDelivery[]>

interface HandOversOptions extends DispatcherParts {
  readonly isStopped: () => boolean
}

/** Decides how many new deliveries the store leases to the dispatcher as it adds them, without a claim. */
export class HandOvers {
  readonly #options: HandOversOptions

  constructor(options: HandOversOptions) {
    this.#options = options
  }

  /** Plans an add: how many deliveries the store may hand over to each destination. */
  plan(events: readonly NewEvent[]): Addition {
    const { clock, isStopped } = this.#options
    const sourceId = events[0]?.sourceId ?? ''
    const positions = positionsOf(events)
    const handOver = isStopped() ? [] : this.#roomFor(positions, sourceId)
    const start = { atMs: clock.nowMs(), elapsedMs: elapsedTime(clock) }
    return { sourceId, positions, handOver, start }
  }

  /**
   * Returns the room at each destination. If deliveries wait in the store, a source gets room only if the destination
   * has several sources, and this one has less than an equal share of the backlog.
   */
  #roomFor(positions: Addition['positions'], sourceId: string): readonly ReservedRoom[] {
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
      // Reserve no more than needed: concurrent adds may need the rest.
      const deliveriesMax = Math.min(free, count, room)
      room -= deliveriesMax
      if (isEmpty) queue.backlog.clear()
      return deliveriesMax > 0 ? [{ destinationId, deliveriesMax, queue, line }] : []
    })
  }

  /** Notes how many deliveries stayed in the store, for each destination that several sources share. */
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

/** Makes leased deliveries from a batch and the leases that the store returned for it. */
export function leasedOf(
  { nowMs, events, traceparent }: AddRequest,
  leases: readonly NewLease[],
): readonly LeasedDelivery[] {
  return leases.flatMap(
    ({ eventIndex, deliveryIndex, id, destinationId, lease, leasedUntilMs }) => {
      const event = events[eventIndex]
      const delivery = event?.deliveries[deliveryIndex]
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
    },
  )
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
