import { limits } from '../model/index.ts'

/** When a delivery is tried again. */
export interface RetryPolicy {
  /** Wait before the first retry. */
  readonly firstDelayMs: number
  /** The factor between one wait and the next. */
  readonly factor: number
  /** No wait is longer, jitter aside. */
  readonly delayMsMax: number
  /** Share by which a wait is made shorter or longer at random, from 0 to 1. */
  readonly jitter: number
  /** From the first attempt to the last moment another may start. */
  readonly windowMs: number
}

/** 10 s, times 2.5 each, at most 1 h, plus or minus 20 %: nine retries in four hours. */
export const defaultRetryPolicy: RetryPolicy = Object.freeze({
  firstDelayMs: 10_000,
  factor: 2.5,
  delayMsMax: 60 * 60 * 1_000,
  jitter: 0.2,
  windowMs: limits.retryWindowMs,
})

/** A round that did not succeed. */
export interface FailedRound {
  /** Rounds that were made in the window, this one included: from 1. */
  readonly attempts: number
  /** When this round ended, in milliseconds since 1970. */
  readonly endedAtMs: number
}

/** Whether a delivery's retry window is over: no further round may start. */
export function isWindowOver(
  { firstAttemptAtMs }: { readonly firstAttemptAtMs: number | null },
  windowMs: number,
  nowMs: number,
): boolean {
  return firstAttemptAtMs !== null && nowMs > firstAttemptAtMs + windowMs
}

/**
 * When the schedule has the next round start, whether that is within the window or not.
 *
 * @returns milliseconds since 1970
 */
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
