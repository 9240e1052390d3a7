/** The 99th percentile of some times, rounded; Infinity if there are none. */
export function p99(timesMs: readonly number[]): number {
  const sorted = timesMs.toSorted((a, b) => a - b)
  return Math.round(sorted[Math.floor(sorted.length * 0.99)] ?? Infinity)
}
