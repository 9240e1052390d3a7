import { sleep, type Clock, type Timer } from '../../runtime/index.ts'

/** Maximum delay that later turns make up for. Timers fire a little late. */
const latenessMsMax = 100

/** Spaces turns evenly, to meet a rate on average. */
export class Pace {
  readonly #clock: Clock
  readonly #intervalMs: number
  #nextMs: number

  /** @param ratePerSecond - turns per second; Infinity for no limit */
  constructor(clock: Clock, ratePerSecond: number) {
    this.#clock = clock
    this.#intervalMs = 1_000 / ratePerSecond
    this.#nextMs = clock.nowMs()
  }

  /** Resolves when the next turn is due, or the signal aborts. */
  async turn(stop: AbortSignal): Promise<void> {
    if (this.#intervalMs === 0) return
    const nowMs = this.#clock.nowMs()
    const turnMs = Math.max(this.#nextMs, nowMs - latenessMsMax)
    this.#nextMs = turnMs + this.#intervalMs
    if (turnMs > nowMs) await sleep(this.#clock, turnMs - nowMs, stop)
  }
}

/**
 * A clock that releases all holds when `stop` aborts. Otherwise, a slow endpoint would hold a virtual clock, and
 * the grace period of the command would not end.
 */
export class StoppableClock implements Clock {
  readonly #clock: Clock
  readonly #stop: AbortSignal
  readonly #releases = new Set<() => void>()

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
