import type { EncodedCall, WaitingBatch } from './batch.ts'

/** A batch in line. */
interface Waiting {
  readonly batch: WaitingBatch
  readonly start: () => void
}

/**
 * Starts batches in the order in which they came, a few at a time. The last one in line takes in those
 * that come after it, as long as they fit.
 */
export class Line {
  readonly #inFlightMax: number
  readonly #waiting: Waiting[] = []
  #inFlight = 0

  /** @param inFlightMax - batches that are in flight at the same time, at least 1 */
  constructor(inFlightMax: number) {
    this.#inFlightMax = inFlightMax
  }

  /** Adds calls to the last batch in line. Returns false, and changes nothing, if none has room for them. */
  join(calls: readonly EncodedCall[]): boolean {
    return this.#waiting.at(-1)?.batch.join(calls) === true
  }

  /** Resolves when the batch may start. From then on it takes in no more, and {@link end} must follow. */
  turnOf(batch: WaitingBatch): Promise<void> {
    return new Promise((start) => {
      this.#waiting.push({ batch, start })
      this.#startNext()
    })
  }

  /** Lets the next batch start in place of one that ended. */
  end(): void {
    this.#inFlight--
    this.#startNext()
  }

  #startNext(): void {
    if (this.#inFlight >= this.#inFlightMax) return
    const next = this.#waiting.shift()
    if (next === undefined) return
    this.#inFlight++
    next.start()
  }
}
