import type { Clock } from '../runtime/index.ts'
import type { TrackingSource } from './ports.ts'
import { returnTokens, takeTokens, type TokenBucket } from './token-bucket.ts'

/** Enforces the rate limits of sources. */
export class RateLimits {
  readonly #clock: Clock
  readonly #buckets = new Map<string, TokenBucket>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Takes tokens for calls, and returns 0. If none are left, returns how long to wait, in milliseconds. */
  take({ id, eventsPerSecond }: TrackingSource, count: number): number {
    if (eventsPerSecond === undefined || count === 0) return 0
    const request = { nowMs: this.#clock.nowMs(), count, perSecond: eventsPerSecond }
    const { bucket, waitMs } = takeTokens(this.#buckets.get(id), request)
    this.#buckets.set(id, bucket)
    return waitMs
  }

  /** Returns how long a source must wait before it sends, in milliseconds; 0 if it may send now. */
  waitMs({ id, eventsPerSecond: perSecond }: TrackingSource): number {
    if (perSecond === undefined) return 0
    const request = { nowMs: this.#clock.nowMs(), count: 0, perSecond }
    return takeTokens(this.#buckets.get(id), request).waitMs
  }

  /** Returns the tokens of calls that could not be stored, because the client will send them again. */
  giveBack({ id }: TrackingSource, count: number): void {
    const bucket = this.#buckets.get(id)
    if (bucket !== undefined) this.#buckets.set(id, returnTokens(bucket, count))
  }
}
