/** The first and the longest wait after a failed rewrite; the wait doubles after each failure. */
const [firstWaitMs, longestWaitMs] = [1_000, 600_000]

/** Backs off after a failed rewrite of files, such as on a full disk. */
export class RewriteHold {
  #waitMs = 0
  #untilMs = 0
  #toldAtMs = -Infinity

  /** Returns how many milliseconds to wait until the next try; 0 if it can begin now. */
  leftMs(nowMs: number): number {
    return Math.max(this.#untilMs - nowMs, 0)
  }

  /** Records a failure. Returns whether to log it: at most once every ten minutes. */
  failed(nowMs: number): boolean {
    this.#waitMs = Math.min(Math.max(this.#waitMs * 2, firstWaitMs), longestWaitMs)
    this.#untilMs = nowMs + this.#waitMs
    if (nowMs - this.#toldAtMs < longestWaitMs) return false
    this.#toldAtMs = nowMs
    return true
  }

  succeeded(): void {
    this.#waitMs = 0
    this.#untilMs = 0
    this.#toldAtMs = -Infinity
  }
}
