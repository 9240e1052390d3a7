import { limits } from '../model/index.ts'

/** When a delivery is retried. */
export interface RetryPolicy {
  readonly firstDelayMs: number
  /** How many times longer each wait is than the one before. */
  readonly factor: number
  /** Maximum wait, before jitter. */
  readonly delayMsMax: number
  /** Maximum share by which a wait is randomly shortened or lengthened, from 0 to 1. */
  readonly jitter: number
  /** How long after the first attempt the last retry may start. */
  readonly windowMs: number
}

/** Waits 10 s, then 2.5 times longer each time, at most 1 h, plus or minus 20 %: nine retries in four hours. */
export const defaultRetryPolicy: RetryPolicy = Object.freeze({
  firstDelayMs: 10_000,
  factor: 2.5,
  delayMsMax: 60 * 60 * 1_000,
  jitter: 0.2,
  windowMs: limits.retryWindowMs,
})

interface FailedRound {
  /** Number of rounds in the window, including this one. */
  readonly attempts: number
  readonly endedAtMs: number
}

/** Whether a delivery's retry window is over, so that no further round may start. */
export function isWindowOver(
  { firstAttemptAtMs }: { readonly firstAttemptAtMs: number | null },
  windowMs: number,
  nowMs: number,
): boolean {
  return firstAttemptAtMs !== null && nowMs > firstAttemptAtMs + windowMs
}

/** Returns when the next round is scheduled, in milliseconds since 1970, even if that is after the window. */
export function nextAttemptAtMs(
  policy: RetryPolicy,
  round: FailedRound,
  random: () => number,
): number {
  const delayMs = Math.min(
    policy.firstDelayMs * policy.factor ** (round.attempts - 1),
    policy.delayMsMax,
  )
  const jitterFactor = 1 + policy.jitter * (2 * random() - 1)
  return round.endedAtMs + Math.round(delayMs * jitterFactor)
}
