import TinyQueue from 'tinyqueue'
import type { DueTime, Share } from '../../delivery/index.ts'
import type { Lane } from '../../model/index.ts'
import type { StoredDelivery } from './stored-delivery.ts'

type Queue = TinyQueue<StoredDelivery>

/**
 * Deliveries that wait: a queue per destination and lane, by when they are due, then by id. Those that
 * are erased meanwhile are passed over.
 */
export class WaitingLanes {
  readonly #queues = new Map<string, Map<Lane, Queue>>()

  /** Lets a delivery wait in its lane. */
  add(delivery: StoredDelivery): void {
    const { destinationId, lane } = delivery
    let lanes = this.#queues.get(destinationId)
    if (lanes === undefined) this.#queues.set(destinationId, (lanes = new Map<Lane, Queue>()))
    let queue = lanes.get(lane)
    if (queue === undefined) lanes.set(lane, (queue = inOrder([])))
    queue.push(delivery)
  }

  /** Takes the first deliveries of a lane that are due. */
  take(share: Share): readonly StoredDelivery[] {
    const queue = this.#queues.get(share.destinationId)?.get(share.lane)
    if (queue === undefined) return []
    return takeWhile(queue, share.deliveriesMax, ({ dueAtMs }) => dueAtMs <= share.dueByMs)
  }

  /** Takes deliveries of every lane that are due since before a moment: `countMax` at the most. */
  takeDueBefore(momentMs: number, countMax: number): readonly StoredDelivery[] {
    const taken: StoredDelivery[] = []
    for (const queue of this.#all()) {
      const isOld = ({ dueAtMs }: StoredDelivery): boolean => dueAtMs < momentMs
      taken.push(...takeWhile(queue, countMax - taken.length, isOld))
    }
    return taken
  }

  /** Takes deliveries out of their lanes, wherever they stand. */
  remove(deliveries: ReadonlySet<StoredDelivery>): void {
    if (deliveries.size === 0) return
    for (const lanes of this.#queues.values()) {
      for (const [lane, { data }] of lanes) {
        const rest = data.filter((delivery) => !deliveries.has(delivery))
        if (rest.length < data.length) lanes.set(lane, inOrder(rest))
      }
    }
  }

  /** When the first delivery of each lane is due; none for an empty lane. */
  nextDue(destinationId: string): readonly DueTime[] {
    const lanes = this.#queues.get(destinationId) ?? new Map<Lane, Queue>()
    return [...lanes].flatMap(([lane, queue]) => {
      const first = firstOf(queue)
      return first === undefined ? [] : [{ destinationId, lane, dueAtMs: first.dueAtMs }]
    })
  }

  /** Forgets everything. */
  clear(): void {
    this.#queues.clear()
  }

  #all(): readonly Queue[] {
    return [...this.#queues.values()].flatMap((lanes) => [...lanes.values()])
  }
}

function inOrder(deliveries: StoredDelivery[]): Queue {
  return new TinyQueue(deliveries, (a, b) => a.dueAtMs - b.dueAtMs || a.id - b.id)
}

/** Erased ones go when their turn comes: looking for each in its queue would be as long as the queue. */
function firstOf(queue: Queue): StoredDelivery | undefined {
  while (queue.peek()?.isErased === true) queue.pop()
  return queue.peek()
}

function takeWhile(
  queue: Queue,
  countMax: number,
  wanted: (delivery: StoredDelivery) => boolean,
): readonly StoredDelivery[] {
  const taken: StoredDelivery[] = []
  while (taken.length < countMax) {
    const first = firstOf(queue)
    if (first === undefined || !wanted(first)) break
    queue.pop()
    taken.push(first)
  }
  return taken
}
