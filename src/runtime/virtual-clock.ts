import type { Clock, Timer } from './clock.ts'
import { ManualClock } from './manual-clock.ts'

/**
 * Idle turns of the event loop before the clock jumps; enough for a finished request to start the next one.
 */
const idleTurns = 3

/**
 * A clock that jumps to the next task whenever nothing holds it, so that hours of waiting take no time. Requests
 * and reads hold it.
 */
export class VirtualClock implements Clock {
  readonly #clock: ManualClock
  #holds = 0
  #watching = false
  #turnsLeft = idleTurns

  /** @param startMs - milliseconds since 1970 */
  constructor(startMs: number) {
    this.#clock = new ManualClock(startMs)
  }

  nowMs(): number {
    return this.#clock.nowMs()
  }

  schedule(delayMs: number, task: () => void): Timer {
    const timer = this.#clock.schedule(delayMs, task)
    this.#watch()
    return timer
  }

  hold(): () => void {
    this.#holds++
    let held = true
    return () => {
      if (!held) return
      held = false
      this.#holds--
      this.#watch()
    }
  }

  /** Restarts the count of idle turns, because the caller did work. */
  #watch(): void {
    this.#turnsLeft = idleTurns
    if (this.#watching) return
    this.#watching = true
    setImmediate(() => this.#turn())
  }

  #turn(): void {
    if (this.#holds > 0 || this.#clock.nextDueMs() === undefined) {
      this.#watching = false
      return
    }
    setImmediate(() => this.#turn())
    this.#turnsLeft--
    if (this.#turnsLeft > 0) return
    this.#turnsLeft = idleTurns
    this.#clock.runNext()
  }
}
