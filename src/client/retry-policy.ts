/** How often a batch is tried, the first time included. */
export const attemptsMax = 10

const delayFirstMs = 100
const delayMaxMs = 10_000
const retryAfterMaxMs = 5 * 60 * 1_000

/** The facts that decide the wait before another try. */
export interface FailedAttempt {
  /** The number of the try that failed, from 1. */
  readonly attempt: number
  /** The least time to wait that the endpoint asked for; undefined when it did not. */
  readonly afterMs: number | undefined
}

/**
 * The wait before the next try: 100 ms doubling to 10 s, minus a random part of up to half, so that clients
 * do not come back all at once; longer if the endpoint asks for it, up to 5 minutes.
 *
 * @param random - from 0 up to, but not including, 1
 * @returns milliseconds
 */
export function retryDelayMs({ attempt, afterMs = 0 }: FailedAttempt, random: number): number {
  const backoffMs = Math.min(delayFirstMs * 2 ** (attempt - 1), delayMaxMs)
  const jitteredMs = Math.round(backoffMs * (0.5 + random / 2))
  return Math.max(jitteredMs, Math.min(afterMs, retryAfterMaxMs))
}
