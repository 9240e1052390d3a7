import type { Clock } from './clock.ts'

/**
 * Starts to measure real time, even if the runtime has another clock.
 *
 * @returns a function that returns the elapsed milliseconds, with fractions
 */
export function stopwatch(): () => number {
  // Not `performance`, which every start of the command would load.
  const startedAt = process.hrtime.bigint()
  return () => Number(process.hrtime.bigint() - startedAt) / 1e6
}

/**
 * Starts to measure elapsed time: the larger of wall and monotonic time. A clock can be set back, and monotonic
 * time stops while the machine sleeps.
 *
 * @returns a function that returns the elapsed milliseconds
 */
export function elapsedTime(clock: Clock): () => number {
  const startMs = clock.nowMs()
  const livedMs = stopwatch()
  return () => Math.max(clock.nowMs() - startMs, livedMs())
}
