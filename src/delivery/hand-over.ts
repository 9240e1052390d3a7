import type { Clock } from '../runtime/index.ts'
import type { DestinationQueue, Line } from './destination-queue.ts'
import type { Prefetch } from './prefetch.ts'
import type { NewEvent, Room } from './store-port.ts'
import type { WaitingTimes } from './waiting-times.ts'

/** Deliveries for each destination. */
export type DeliveryCounts = ReadonlyMap<string, number>

/** Room for deliveries on their way, with their queue. */
export interface KeptRoom extends Room {
  /** Where the deliveries go. */
  readonly queue: DestinationQueue
  /** The line by which they enter the queue. */
  readonly line: Line
}

/** Options of hand-overs. */
export interface HandOversOptions {
  /** Decides whether endpoints are held back. */
  readonly clock: Clock
  /** The queues that take the deliveries, by destination id. */
  readonly queues: ReadonlyMap<string, DestinationQueue>
  /** The known due times of waiting deliveries. */
  readonly times: WaitingTimes
  /** Bounds the leased deliveries of all destinations. */
  readonly prefetch: Prefetch
}

/** Decides which fresh deliveries start without being claimed. */
export class HandOvers {
  readonly #options: HandOversOptions

  constructor(options: HandOversOptions) {
    this.#options = options
  }

  /**
   * Returns where the store may hand fresh deliveries over: to destinations with room and without earlier
   * deliveries in the store. If several sources feed a destination, deliveries of a source with less than its
   * share of the backlog may pass the others.
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
      // Take no more room than needed: other additions at the same time need the rest.
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
