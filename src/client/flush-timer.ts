import type { Clock, Timer } from '../runtime/index.ts'

/** The settings of a flush timer. */
export interface FlushTimerOptions {
  /** The time. */
  readonly clock: Clock
  /** Milliseconds from one flush to the next. */
  readonly afterMs: number
  /** Is called when the time has come. */
  readonly flush: () => void
}

/** Asks for a flush when long enough has passed since the last one. It waits only while armed. */
export class FlushTimer {
  readonly #options: FlushTimerOptions
  #lastFlushMs: number
  #timer: Timer | undefined

  constructor(options: FlushTimerOptions) {
    this.#options = options
    this.#lastFlushMs = options.clock.nowMs()
  }

  /** Something waits to be flushed. */
  arm(): void {
    if (this.#timer !== undefined) return
    const { clock, afterMs, flush } = this.#options
    const delayMs = this.#lastFlushMs + afterMs - clock.nowMs()
    // A system clock that was set back must not stretch the wait.
    this.#timer = clock.schedule(Math.min(delayMs, afterMs), flush)
  }

  /** A flush took place. */
  flushed(): void {
    this.#timer?.cancel()
    this.#timer = undefined
    this.#lastFlushMs = this.#options.clock.nowMs()
  }
}
