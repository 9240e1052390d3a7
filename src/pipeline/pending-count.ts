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

  /** Counts events from the moment on that they are to be added; holds none of them meanwhile. */
  async add(
    events: readonly NewEvent[],
    add: (events: readonly NewEvent[]) => Promise<readonly AddOutcome[]>,
  ): Promise<readonly AddOutcome[]> {
    const size = sizeOf(events)
    const adding = add(events)
    this.#adding += size.deliveries
    this.#addingBytes += size.bytes
    // Not awaited here, which would hold the events until then.
    return this.#counted(adding, size)
  }

  async #counted(
    adding: Promise<readonly AddOutcome[]>,
    { ofEach, deliveries, bytes }: Size,
  ): Promise<readonly AddOutcome[]> {
    try {
      const outcomes = await adding
      for (const [index, count] of ofEach.entries()) {
        if (outcomes[index] === 'routed') this.#added += count
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

/** How much events come to. */
interface Size {
  /** Deliveries of each of them. */
  readonly ofEach: readonly number[]
  /** Deliveries of all of them. */
  readonly deliveries: number
  /** And their webhooks, more or less. */
  readonly bytes: number
}

function sizeOf(events: readonly NewEvent[]): Size {
  let deliveries = 0
  let bytes = 0
  for (const event of events) {
    deliveries += event.deliveries.length
    for (const { body } of event.deliveries) bytes += body.length
  }
  return { ofEach: events.map((event) => event.deliveries.length), deliveries, bytes }
}
