import { defaultBreakerPolicy, type BreakerPolicy } from './circuit-breaker.ts'
import type { PaceOptions } from './pace.ts'
import type { RetryPolicy } from './retry-policy.ts'

/** Policies of a queue beside the settings of its destination. */
export interface QueuePolicies {
  /** Requests in flight per endpoint; none for now where it is 0. */
  readonly concurrency: number
  /** The part of each endpoint's rate that this process may use, above 0 and up to 1. */
  readonly rateShare: number
  /** When endpoints are left alone. */
  readonly breaker: BreakerPolicy
  /** How endpoints are slowed down that answer 429. */
  readonly pace: PaceOptions
  /** For how long a delivery is retried. */
  readonly retryWindowMs: number
}

/** What a queue may send to each of its endpoints; the whole rate by default. */
type QueueShare = Pick<QueuePolicies, 'concurrency'> & Partial<Pick<QueuePolicies, 'rateShare'>>

/** No endpoint is probed sooner, however short the retry window is. */
const openMsMin = 1_000

/** Where deliveries are retried for a short time only, an endpoint is probed twice in it at least. */
export function queuePolicies(
  { windowMs: retryWindowMs, delayMsMax }: RetryPolicy,
  { concurrency, rateShare = 1 }: QueueShare,
  random: () => number,
): QueuePolicies {
  const { openMs, openMsMax } = defaultBreakerPolicy
  const longestMs = Math.max(retryWindowMs / 2, openMsMin)
  const breaker = {
    ...defaultBreakerPolicy,
    openMs: Math.min(openMs, longestMs),
    openMsMax: Math.min(openMsMax, longestMs),
  }
  const pace = { holdMsMax: Math.min(delayMsMax, longestMs), random }
  return { concurrency, rateShare, breaker, pace, retryWindowMs }
}
