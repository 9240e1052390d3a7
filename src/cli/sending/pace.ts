import { sleep, type Clock } from '../../runtime/index.ts'

/** Timers fire a little late. Later turns make up for at most this much lateness. */
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
