import type { Clock } from './clock.ts'

/**
 * Starts to measure real time, even if the runtime has another clock.
 *
 * @returns a function that tells the elapsed milliseconds, with fractions
 */
export function stopwatch(): () => number {
  // Not `performance`, which every start of the command would load.
  const startedAt = process.hrtime.bigint()
  return () => Number(process.hrtime.bigint() - startedAt) / 1e6
}

/**
 * Starts measuring the time that others may have lived through: the larger of wall and monotonic time. A clock
 * can be set back, and monotonic time stands still while the machine sleeps.
 *
 * @returns a function that tells the milliseconds gone by
 */
export function elapsedTime(clock: Clock): () => number {
  const startMs = clock.nowMs()
  const livedMs = stopwatch()
  return () => Math.max(clock.nowMs() - startMs, livedMs())
}
