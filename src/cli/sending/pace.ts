import { sleep, type Clock } from '../../runtime/index.ts'

/** Spreads turns evenly, so that no second has more than its rate; late turns do not pile up. */
export class Pace {
  readonly #clock: Clock
  readonly #intervalMs: number
  #nextMs: number

  /** @param ratePerSecond - turns per second; Infinity for as many as come */
  constructor(clock: Clock, ratePerSecond: number) {
    this.#clock = clock
    this.#intervalMs = 1_000 / ratePerSecond
    this.#nextMs = clock.nowMs()
  }

  /** Resolves when it is time for the next turn, or the signal aborts. */
  async turn(stop: AbortSignal): Promise<void> {
    if (this.#intervalMs === 0) return
    const nowMs = this.#clock.nowMs()
    if (this.#nextMs > nowMs) await sleep(this.#clock, this.#nextMs - nowMs, stop)
    this.#nextMs = Math.max(this.#nextMs, nowMs) + this.#intervalMs
  }
}
