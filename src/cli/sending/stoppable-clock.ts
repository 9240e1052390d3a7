import type { Clock, Timer } from '../../runtime/index.ts'

/**
 * A clock that nothing holds once the command is to end: a virtual one would stand still while an
 * endpoint does not answer, and no grace would ever be over.
 */
export class StoppableClock implements Clock {
  readonly #clock: Clock
  readonly #stop: AbortSignal

  /** @param stop - aborts when the command is to end early */
  constructor(clock: Clock, stop: AbortSignal) {
    this.#clock = clock
    this.#stop = stop
  }

  nowMs(): number {
    return this.#clock.nowMs()
  }

  schedule(delayMs: number, task: () => void): Timer {
    return this.#clock.schedule(delayMs, task)
  }

  hold(): () => void {
    if (this.#stop.aborted) return () => undefined
    const release = this.#clock.hold()
    this.#stop.addEventListener('abort', release, { once: true })
    return () => {
      this.#stop.removeEventListener('abort', release)
      release()
    }
  }
}
