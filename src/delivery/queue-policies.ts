import { defaultBreakerPolicy, type BreakerPolicy } from './circuit-breaker.ts'
import type { PaceOptions } from './pace.ts'
import type { RetryPolicy } from './retry-policy.ts'

/** Policies of a queue beside the settings of its destination. */
export interface QueuePolicies {
  /** Requests in flight per endpoint; 0 for none at present. */
  readonly concurrency: number
  /** The part of each endpoint's rate that this process may use, above 0 and up to 1. */
  readonly rateShare: number
  /** Deliveries of a lane that may be ready, however small the concurrency is. */
  readonly readyMin: number
  /** When breakers open, and for how long. */
  readonly breaker: BreakerPolicy
  /** How endpoints that answer 429 are slowed down. */
  readonly pace: PaceOptions
  /** How long a delivery is retried. */
  readonly retryWindowMs: number
}

/** The share of each endpoint that a queue may use; the whole rate by default, and no `readyMin`. */
type QueueShare = Pick<QueuePolicies, 'concurrency'> &
  Partial<Pick<QueuePolicies, 'rateShare' | 'readyMin'>>

/** Lower bound of the time before a probe, however short the retry window is. */
const openMsMin = 1_000

/**
 * Makes the policies of a queue. Shortens breakers and holds so that even a short retry window has at least two
 * probes.
 */
export function queuePolicies(
  { windowMs: retryWindowMs, delayMsMax }: RetryPolicy,
  { concurrency, rateShare = 1, readyMin = 0 }: QueueShare,
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
  return { concurrency, rateShare, readyMin, breaker, pace, retryWindowMs }
}
