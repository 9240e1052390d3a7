import type { EncodedCall, Batch } from './batch.ts'

interface Waiting {
  readonly batch: Batch
  readonly start: () => void
}

/** Starts batches in order of arrival, a few at a time. A new batch joins the last one in line if it fits. */
export class Line {
  readonly #inFlightMax: number
  readonly #waiting: Waiting[] = []
  #inFlight = 0

  /** @param inFlightMax - maximum number of batches in flight, at least 1 */
  constructor(inFlightMax: number) {
    this.#inFlightMax = inFlightMax
  }

  /** Adds all calls to the last batch in line. Returns false if the line is empty, or the calls don't fit. */
  join(calls: readonly EncodedCall[]): boolean {
    return this.#waiting.at(-1)?.batch.join(calls) === true
  }

  /** Resolves when the batch may start. From then on, no calls join it. Call {@link end} when it has ended. */
  turnOf(batch: Batch): Promise<void> {
    return new Promise((start) => {
      this.#waiting.push({ batch, start })
      this.#startNext()
    })
  }

  /** Starts the next batch, because one has ended. */
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
