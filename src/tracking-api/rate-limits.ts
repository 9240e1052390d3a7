import type { Clock } from '../runtime/index.ts'
import type { TrackingSource } from './ports.ts'

interface TokenBucket {
  /** Calls that the source may send now; negative after a batch with more calls than tokens. */
  tokens: number
  /** When `tokens` was computed, in milliseconds since 1970. */
  atMs: number
}

type LimitedSource = Pick<TrackingSource, 'id' | 'eventsPerSecond'>

/** Tolerance for rounding errors, because a rate is rarely a whole number of calls per millisecond. */
const roundingMs = 1e-6

/**
 * Enforces the rate limits of sources. A source's token bucket holds the calls of one second, and at least one call.
 * While any tokens are left, a batch of any size passes. The bucket may then go negative, and later batches wait.
 */
export class RateLimits {
  readonly #clock: Pick<Clock, 'nowMs'>
  readonly #buckets = new Map<string, TokenBucket>()

  constructor(clock: Pick<Clock, 'nowMs'>) {
    this.#clock = clock
  }

  /** Takes tokens for calls, and returns 0. If none are left, returns how long to wait, in milliseconds. */
  take({ id, eventsPerSecond: perSecond }: LimitedSource, count: number): number {
    if (perSecond === undefined || count === 0) return 0
    const bucket = this.#filled(id, perSecond)
    const waitMs = waitMsOf(bucket, perSecond)
    if (waitMs === 0) bucket.tokens -= count
    return waitMs
  }

  /** Returns how long a source must wait before it sends, in milliseconds; 0 if it may send now. */
  waitMs({ id, eventsPerSecond: perSecond }: LimitedSource): number {
    return perSecond === undefined ? 0 : waitMsOf(this.#filled(id, perSecond), perSecond)
  }

  /** Gives back the tokens of calls that could not be stored, because the client will send them again. */
  giveBack({ id }: LimitedSource, count: number): void {
    const bucket = this.#buckets.get(id)
    if (bucket !== undefined) bucket.tokens += count
  }

  /** Returns the bucket of a source, with its tokens as of now. */
  #filled(id: string, perSecond: number): TokenBucket {
    const nowMs = this.#clock.nowMs()
    const tokensMax = Math.max(1, perSecond)
    const bucket = this.#buckets.get(id) ?? { tokens: tokensMax, atMs: nowMs }
    this.#buckets.set(id, bucket)
    const elapsedMs = Math.max(0, nowMs - bucket.atMs)
    bucket.tokens = Math.min(tokensMax, bucket.tokens + (elapsedMs / 1_000) * perSecond)
    bucket.atMs = nowMs
    return bucket
  }
}

function waitMsOf({ tokens }: TokenBucket, perSecond: number): number {
  if (tokens > 0) return 0
  // Wait until tokens are above zero, not just at zero, and allow for rounding.
  const owedMs = (-tokens / perSecond) * 1_000
  return Math.floor(owedMs + roundingMs) + 1
}
