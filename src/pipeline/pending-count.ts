import type { AddOutcome, DeliveryStore, NewEvent } from '../delivery/index.ts'

/** Bytes of webhooks, more or less, that may wait for the store to take them. */
const addingBytesMax = 16 * 1024 * 1024

/**
 * Knows at every moment how many deliveries wait: what the store said when it was last asked, and what
 * was added and came to its end since. Rather too many than too few, until the store is asked again.
 */
export class PendingCount {
  #stored = 0
  #added = 0
  #ended = 0
  #adding = 0
  #addingBytes = 0

  /** Deliveries that wait, those among them that the store is about to take. */
  get deliveries(): number {
    return Math.max(this.#stored + this.#added - this.#ended, 0) + this.#adding
  }

  /** Whether so much waits, or the store is so far behind, that nothing more should be taken. */
  isFull(deliveriesMax: number): boolean {
    return this.deliveries >= deliveriesMax || this.#addingBytes >= addingBytesMax
  }

  /** Counts events from the moment on that they are to be added. */
  async add(
    events: readonly NewEvent[],
    add: (events: readonly NewEvent[]) => Promise<readonly AddOutcome[]>,
  ): Promise<readonly AddOutcome[]> {
    const { deliveries, bytes } = sizeOf(events)
    this.#adding += deliveries
    this.#addingBytes += bytes
    try {
      const outcomes = await add(events)
      for (const [index, event] of events.entries()) {
        if (outcomes[index] === 'routed') this.#added += event.deliveries.length
      }
      return outcomes
    } finally {
      this.#adding -= deliveries
      this.#addingBytes -= bytes
    }
  }

  /** A delivery came to its end. */
  ended(): void {
    this.#ended++
  }

  /** Asks the store, which also knows what was retried by hand and what was given up. */
  async look(store: Pick<DeliveryStore, 'ledger'>): Promise<void> {
    const before = this.#added
    const { pending } = await store.ledger()
    this.#stored = pending
    // Whether the answer has what was added meanwhile cannot be told.
    this.#added -= before
    this.#ended = 0
  }
}

function sizeOf(events: readonly NewEvent[]): {
  readonly deliveries: number
  readonly bytes: number
} {
  let deliveries = 0
  let bytes = 0
  for (const event of events) {
    deliveries += event.deliveries.length
    for (const { body } of event.deliveries) bytes += body.length
  }
  return { deliveries, bytes }
}
