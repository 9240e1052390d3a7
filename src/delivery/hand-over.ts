import type { Clock } from '../runtime/index.ts'
import type { DestinationQueue, Line } from './destination-queue.ts'
import type { Prefetch } from './prefetch.ts'
import type { NewEvent, Room } from './store-port.ts'
import type { WaitingTimes } from './waiting-times.ts'

/** The number of deliveries, keyed by destination. */
export type DeliveryCounts = ReadonlyMap<string, number>

/** Room that is reserved for the deliveries of an add, and the queue that will receive them. */
export interface KeptRoom extends Room {
  /** The queue that will receive the deliveries. */
  readonly queue: DestinationQueue
  /** The line by which they enter the queue. */
  readonly line: Line
}

/** Options of {@link HandOvers}. */
export interface HandOversOptions {
  /** The clock that decides whether endpoints are held back. */
  readonly clock: Clock
  /** The queues that take the deliveries, by destination id. */
  readonly queues: ReadonlyMap<string, DestinationQueue>
  /** The known due times of waiting deliveries. */
  readonly times: WaitingTimes
  /** Limits the leased deliveries of all destinations together. */
  readonly prefetch: Prefetch
}

/** Decides how many new deliveries the store hands over to the dispatcher while adding them, without a claim. */
export class HandOvers {
  readonly #options: HandOversOptions

  constructor(options: HandOversOptions) {
    this.#options = options
  }

  /**
   * Returns how many new deliveries the store may hand over to each destination: as many as there is room for if
   * no earlier deliveries are waiting in the store. If a destination has several sources, new deliveries from a
   * source with less than its share of the backlog may go ahead of the waiting ones.
   */
  roomFor(counts: DeliveryCounts, sourceId: string): readonly KeptRoom[] {
    const { clock, queues, times, prefetch } = this.#options
    const nowMs = clock.nowMs()
    const part = prefetch.partOf(Math.max(counts.size, times.waitedFor.size))
    let { room } = prefetch
    return [...counts].flatMap(([destinationId, count]) => {
      const queue = queues.get(destinationId)
      if (queue === undefined) return []
      const isShared = queue.destination.sourceIds.length > 1
      const isEmpty = times.isEmpty(destinationId, 'first')
      if (!isEmpty && !isShared) return []
      const line = isEmpty ? 'first' : 'ahead'
      const free = isEmpty ? queue.room('first', nowMs, part) : roomAhead(queue, sourceId, nowMs)
      // Reserve no more room than needed: concurrent adds may need the rest.
      const deliveriesMax = Math.min(free, count, room)
      room -= deliveriesMax
      if (isShared && isEmpty) queue.backlog.clear()
      if (isShared) queue.backlog.add(sourceId, count - deliveriesMax)
      return deliveriesMax > 0 ? [{ destinationId, deliveriesMax, queue, line }] : []
    })
  }
}

function roomAhead(queue: DestinationQueue, sourceId: string, nowMs: number): number {
  return queue.backlog.isQuiet(sourceId) ? queue.roomAhead(nowMs) : 0
}

/** Counts the deliveries of events by destination. */
export function deliveryCounts(events: readonly NewEvent[]): DeliveryCounts {
  const counts = new Map<string, number>()
  for (const { deliveries } of events) {
    for (const { destinationId } of deliveries) {
      counts.set(destinationId, (counts.get(destinationId) ?? 0) + 1)
    }
  }
  return counts
}
