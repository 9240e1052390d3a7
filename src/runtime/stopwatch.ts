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
