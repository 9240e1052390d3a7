/** Maximum number of attempts to send a batch, including the first. */
export const attemptsMax = 10

const delayFirstMs = 100
const delayMaxMs = 10_000
const retryAfterMaxMs = 5 * 60 * 1_000

interface FailedAttempt {
  readonly attempt: number
  /** The minimum wait that the endpoint asked for. */
  readonly afterMs: number | undefined
}

/**
 * Returns the wait before the next attempt: 100 ms doubling to 10 s, minus a random part of up to half, so that
 * clients don't all retry at once. The wait is longer if the endpoint asks for it, up to 5 minutes.
 */
export function retryDelayMs({ attempt, afterMs = 0 }: FailedAttempt, random: number): number {
  const backoffMs = Math.min(delayFirstMs * 2 ** (attempt - 1), delayMaxMs)
  const jitteredMs = Math.round(backoffMs * (0.5 + random / 2))
  return Math.max(jitteredMs, Math.min(afterMs, retryAfterMaxMs))
}
