import type { Clock, Timer } from '../runtime/index.ts'

/** Options of a {@link FlushTimer}. */
export interface FlushTimerOptions {
  /** The clock that schedules flushes. */
  readonly clock: Clock
  /** Milliseconds from one flush to the next. */
  readonly afterMs: number
  /** Called when a flush is due. */
  readonly flush: () => void
}

/** Requests a flush `afterMs` after the last one. Runs only while armed. */
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
