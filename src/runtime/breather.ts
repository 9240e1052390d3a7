import { setImmediate as nextTurn } from 'node:timers/promises'
import { stopwatch } from './stopwatch.ts'

/** Real time that long work may take before others have a turn. */
const breathMs = 10

/** Lets the event loop turn now and then during work that is long because there is a lot of it. */
export class Breather {
  #elapsedMs = stopwatch()

  /** To be awaited between the parts of the work; resolves in the same turn while little time has gone by. */
  async breathe(): Promise<void> {
    if (this.#elapsedMs() < breathMs) return
    await nextTurn()
    this.#elapsedMs = stopwatch()
  }
}
