import type { Timer } from './clock.ts'
import { ManualClock } from './manual-clock.ts'

/** Idle turns of the event loop before the clock jumps, enough for a finished request to start the next one. */
const idleTurns = 3

/** A clock that jumps to the next task whenever no request or other work holds it, so that waits take no time. */
export class VirtualClock extends ManualClock {
  readonly #stop: AbortSignal | undefined
  #watching = false
  #turnsLeft = idleTurns

  /**
   * @param startMs - milliseconds since 1970
   * @param stop - after this signal aborts, holds are ignored: a slow request cannot delay the end of a command
   */
  constructor(startMs: number, stop?: AbortSignal) {
    super(startMs)
    this.#stop = stop
    stop?.addEventListener('abort', () => this.#watch(), { once: true })
  }

  override get isHeld(): boolean {
    return super.isHeld && this.#stop?.aborted !== true
  }

  override schedule(delayMs: number, task: () => void): Timer {
    const timer = super.schedule(delayMs, task)
    this.#watch()
    return timer
  }

  override hold(): () => void {
    const release = super.hold()
    return () => {
      release()
      this.#watch()
    }
  }

  /** Restarts the count of idle turns, because there is new work. */
  #watch(): void {
    this.#turnsLeft = idleTurns
    if (this.#watching) return
    this.#watching = true
    setImmediate(() => this.#turn())
  }

  #turn(): void {
    if (this.isHeld || this.nextDueMs() === undefined) {
      this.#watching = false
      return
    }
    setImmediate(() => this.#turn())
    this.#turnsLeft--
    if (this.#turnsLeft > 0) return
    this.#turnsLeft = idleTurns
    this.runNext()
  }
}
