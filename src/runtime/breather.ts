import { setImmediate as nextTurn } from 'node:timers/promises'
import { stopwatch } from './stopwatch.ts'

/** How long work may hold the event loop before it yields, in real time. */
const breathMs = 10

/** Yields to the event loop now and then during long work. */
export class Breather {
  #elapsedMs = stopwatch()

  /** Yields if the work has run for 10 ms since the last yield. Await it between parts of the work. */
  async breathe(): Promise<void> {
    if (this.#elapsedMs() < breathMs) return
    await nextTurn()
    this.#elapsedMs = stopwatch()
  }
}
