import { setImmediate as nextTurn } from 'node:timers/promises'
import { stopwatch } from './stopwatch.ts'

/** Real time that long work may take before others have a turn. */
const breathMs = 10

/** Lets the event loop turn now and then during work that is long because there is a lot of it. */
export class Breather {
  #elapsedMs = stopwatch()

  /** Await it between parts of the work. Resolves in the same turn while little time has passed. */
  async breathe(): Promise<void> {
    if (this.#elapsedMs() < breathMs) return
    await nextTurn()
    this.#elapsedMs = stopwatch()
  }
}
