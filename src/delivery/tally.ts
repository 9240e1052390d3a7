import type { BreakerPolicy } from './circuit-breaker.ts'

/** The requests that ended within a thirtieth of the window. */
interface Bucket {
  startMs: number
  ended: number
  failed: number
}

const bucketsPerWindow = 30

/**
 * Counts how requests end within a moving window. The window moves in thirtieths of its length, so that the cost
 * doesn't grow with the number of requests. A request may drop out of it early, by up to a thirtieth, but never late.
 */
export class Tally {
  readonly #policy: BreakerPolicy
  readonly #bucketMs: number
  /** Oldest first. */
  readonly #buckets: Bucket[] = []
  #failuresInRow = 0

  constructor(policy: BreakerPolicy) {
    this.#policy = policy
    this.#bucketMs = policy.windowMs / bucketsPerWindow
  }

  count(health: 'success' | 'failure', nowMs: number): void {
    const bucket = this.#bucketAt(nowMs)
    bucket.ended++
    if (health === 'success') {
      this.#failuresInRow = 0
    } else {
      this.#failuresInRow++
      bucket.failed++
    }
  }

  /** Whether the last request within the window succeeded. */
  endedWell(nowMs: number): boolean {
    const newest = this.#buckets.at(-1)
    return newest !== undefined && !this.#leftWindow(newest, nowMs) && this.#failuresInRow === 0
  }

  /** Lets the next failure open the breaker, unless a success comes first. */
  doubt(): void {
    this.#failuresInRow = this.#policy.consecutiveFailures - 1
  }

  /** Whether the breaker should open. Call it only after a failure, because a success must not open the breaker. */
  isBad(): boolean {
    const { consecutiveFailures, requestsMin, failureRate } = this.#policy
    if (this.#failuresInRow >= consecutiveFailures) return true
    let ended = 0
    let failed = 0
    for (const bucket of this.#buckets) {
      ended += bucket.ended
      failed += bucket.failed
    }
    return ended >= requestsMin && failed / ended >= failureRate
  }

  #bucketAt(nowMs: number): Bucket {
    const newest = this.#buckets.at(-1)
    if (newest !== undefined && newest.startMs > nowMs) this.#moveBack(newest.startMs - nowMs)
    while (this.#leftWindow(this.#buckets[0], nowMs)) this.#buckets.shift()
    const current = this.#buckets.at(-1)
    if (current !== undefined && nowMs < current.startMs + this.#bucketMs) return current
    const next: Bucket = { startMs: nowMs, ended: 0, failed: 0 }
    this.#buckets.push(next)
    return next
  }

  #leftWindow(bucket: Bucket | undefined, nowMs: number): boolean {
    return bucket !== undefined && bucket.startMs <= nowMs - this.#policy.windowMs
  }

  /** Moves all buckets back after the clock was set back: buckets in the future would leave the window too late. */
  #moveBack(durationMs: number): void {
    for (const bucket of this.#buckets) bucket.startMs -= durationMs
  }
}
