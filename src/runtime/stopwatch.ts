import type { Clock } from './clock.ts'

/**
 * Starts measuring real time, whatever the clock of the runtime does.
 *
 * @returns a function that tells the milliseconds gone by, with fractions
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
