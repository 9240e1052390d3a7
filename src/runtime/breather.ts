import { setImmediate as nextTurn } from 'node:timers/promises'
import { stopwatch } from './stopwatch.ts'

/** Real time that long work may take before it yields to the event loop. */
const breathMs = 10

/** Yields to the event loop now and then during long work. */
export class Breather {
  #elapsedMs = stopwatch()

  /** Yields if the work has taken long enough. Await it between parts of the work. */
  async breathe(): Promise<void> {
    if (this.#elapsedMs() < breathMs) return
    await nextTurn()
    this.#elapsedMs = stopwatch()
  }
}
