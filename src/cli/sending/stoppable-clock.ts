import type { Clock, Timer } from '../../runtime/index.ts'

/**
 * A clock whose holds end when the command must end early. Otherwise a virtual clock would stand still while
 * an endpoint does not answer, and no grace period would end.
 */
export class StoppableClock implements Clock {
  readonly #clock: Clock
  readonly #stop: AbortSignal
  readonly #releases = new Set<() => void>()

  /** @param stop - aborts when the command must end early */
  constructor(clock: Clock, stop: AbortSignal) {
    this.#clock = clock
    this.#stop = stop
    // One listener for all holds: Node warns about a signal with many listeners.
    stop.addEventListener('abort', () => this.#releaseAll(), { once: true })
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
    this.#releases.add(release)
    return () => {
      this.#releases.delete(release)
      release()
    }
  }

  #releaseAll(): void {
    for (const release of this.#releases) release()
    this.#releases.clear()
  }
}
