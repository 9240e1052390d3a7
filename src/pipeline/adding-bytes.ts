import type { AddOutcome, NewEvent } from '../delivery/index.ts'

/** Limit on the bytes of webhooks that wait for the store. The last batch may exceed it. */
const bytesMax = 16 * 1024 * 1024
/** Minimum number of bytes counted per event: even an event without webhooks waits for the store. */
const eventBytesMin = 512

/** Counts the bytes of webhooks that wait for the store to add them. */
export class AddingBytes {
  #bytes = 0

  /** Whether the store is so far behind that a service should refuse calls. */
  get isFull(): boolean {
    return this.#bytes >= bytesMax
  }

  /** Adds events. Their bytes count until the store has answered. Meanwhile, holds no reference to the events. */
  async add(
    events: readonly NewEvent[],
    add: (events: readonly NewEvent[]) => Promise<readonly AddOutcome[]>,
  ): Promise<readonly AddOutcome[]> {
    const bytes = bytesOf(events)
    const adding = add(events)
    this.#bytes += bytes
    // Don't await here: the async frame would keep the events alive.
    return this.#counted(adding, bytes)
  }

  async #counted(
    adding: Promise<readonly AddOutcome[]>,
    bytes: number,
  ): Promise<readonly AddOutcome[]> {
    try {
      return await adding
    } finally {
      this.#bytes -= bytes
    }
  }
}

function bytesOf(events: readonly NewEvent[]): number {
  let bytes = 0
  for (const { deliveries } of events) {
    const sum = deliveries.reduce((total, { body }) => total + body.length, 0)
    bytes += Math.max(sum, eventBytesMin)
  }
  return bytes
}
