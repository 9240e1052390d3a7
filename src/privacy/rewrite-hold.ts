/** How soon files are tried to be rewritten again: twice as late every time, up to the longest wait. */
const [firstWaitMs, longestWaitMs] = [1_000, 600_000]

/** Keeps files from being rewritten again and again where that cannot be done, such as without room. */
export class RewriteHold {
  #waitMs = 0
  #untilMs = 0
  #toldAtMs = -Infinity

  /** How long nothing is tried from a moment on, in milliseconds; 0 where it may be tried. */
  leftMs(nowMs: number): number {
    return Math.max(this.#untilMs - nowMs, 0)
  }

  /**
   * Takes in that it could not be done.
   *
   * @returns whether that is to be told: at the most as often as the longest wait
   */
  failed(nowMs: number): boolean {
    this.#waitMs = Math.min(Math.max(this.#waitMs * 2, firstWaitMs), longestWaitMs)
    this.#untilMs = nowMs + this.#waitMs
    if (nowMs - this.#toldAtMs < longestWaitMs) return false
    this.#toldAtMs = nowMs
    return true
  }

  /** Takes in that it could be done. */
  succeeded(): void {
    this.#waitMs = 0
    this.#untilMs = 0
    this.#toldAtMs = -Infinity
  }
}
