/**
 * Starts measuring real time, whatever the clock of the runtime does.
 *
 * @returns a function that tells the milliseconds gone by, with fractions
 */
export function stopwatch(): () => number {
  const startedAtMs = performance.now()
  return () => performance.now() - startedAtMs
}
