import { defaultBreakerPolicy, type BreakerPolicy } from './circuit-breaker.ts'
import type { PaceOptions } from './pace.ts'
import type { RetryPolicy } from './retry-policy.ts'

/** What limits a queue's requests: this process's share of each endpoint, and its breaker, pace and retry window. */
export interface QueuePolicies {
  /** Maximum number of requests in flight per endpoint; 0 to send none for now. */
  readonly concurrency: number
  readonly rateShare: number
  readonly readyMin: number
  readonly breaker: BreakerPolicy
  readonly pace: PaceOptions
  readonly retryWindowMs: number
}

/** This process's share of each endpoint, and how many deliveries it keeps ready. */
type QueueShare = Pick<QueuePolicies, 'concurrency'> &
  Partial<Pick<QueuePolicies, 'rateShare' | 'readyMin'>>

/** Minimum time before a probe, however short the retry window is. */
const openMsMin = 1_000

/**
 * Makes the policies of a queue. Breakers are open, and endpoints pause, for at most half the retry window, so that two
 * probes fit into it.
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
  const pace = { pauseMsMax: Math.min(delayMsMax, longestMs), random }
  return { concurrency, rateShare, readyMin, breaker, pace, retryWindowMs }
}
