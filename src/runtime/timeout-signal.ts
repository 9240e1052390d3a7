/**
 * Returns a signal that aborts after a time, in milliseconds of real time. Pass it to `AbortSignal.any`: in Node 20, a
 * garbage collection can remove an `AbortSignal.timeout`, and the combined signal never aborts.
 */
export function timeoutSignal(timeoutMs: number): AbortSignal {
  const end = new AbortController()
  setTimeout(() => end.abort(), timeoutMs).unref()
  return end.signal
}
