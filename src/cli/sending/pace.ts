import { sleep, type Clock } from '../../runtime/index.ts'

/** Timers wake late by a little, which the next turns make up for; more than this is forgiven. */
const latenessMsMax = 100

/** Spreads turns evenly, so that their rate is met on average; late turns do not pile up. */
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
    const turnMs = Math.max(this.#nextMs, nowMs - latenessMsMax)
    this.#nextMs = turnMs + this.#intervalMs
    if (turnMs > nowMs) await sleep(this.#clock, turnMs - nowMs, stop)
  }
}
