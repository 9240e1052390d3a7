import type { Clock } from './clock.ts'

/** Starts measuring real time. Returns a function that returns the elapsed milliseconds, with fractions. */
export function stopwatch(): () => number {
  // Node loads `performance` on first use, which would slow every start of the command.
  const startedAt = process.hrtime.bigint()
  return () => Number(process.hrtime.bigint() - startedAt) / 1e6
}

/** Measures elapsed time, even if the clock is set back, or the machine sleeps and its monotonic clock stops. */
export function elapsedTime(clock: Clock): () => number {
  const startMs = clock.nowMs()
  const livedMs = stopwatch()
  return () => Math.max(clock.nowMs() - startMs, livedMs())
}
