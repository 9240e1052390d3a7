import type { Clock, Timer } from '../runtime/index.ts'

interface FlushTimerOptions {
  readonly clock: Clock
  readonly afterMs: number
  readonly flush: () => void
}

/** While armed, calls `flush` when `afterMs` have passed since the last flush. */
export class FlushTimer {
  readonly #options: FlushTimerOptions
  #lastFlushMs: number
  #timer: Timer | undefined

  constructor(options: FlushTimerOptions) {
    this.#options = options
    this.#lastFlushMs = options.clock.nowMs()
  }

  /** Starts the timer, because calls are waiting for a flush. */
  arm(): void {
    if (this.#timer !== undefined) return
    const { clock, afterMs, flush } = this.#options
    const delayMs = this.#lastFlushMs + afterMs - clock.nowMs()
    // Setting the system clock back must not lengthen the wait.
    this.#timer = clock.schedule(Math.min(delayMs, afterMs), flush)
  }

  /** Records a flush, and stops the timer. */
  flushed(): void {
    this.#timer?.cancel()
    this.#timer = undefined
    this.#lastFlushMs = this.#options.clock.nowMs()
  }
}
