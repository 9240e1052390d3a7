/**
 * Reads a `Retry-After` header: whole seconds or an HTTP date.
 *
 * @returns how long to wait in milliseconds, never negative; undefined when there is nothing to read
 */
export function parseRetryAfter(header: string | undefined, nowMs: number): number | undefined {
  const text = header?.trim() ?? ''
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1_000
  // An HTTP date begins with the day's name; Date.parse alone would also read `1.5` or `-3`.
  if (!/^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)/.test(text)) return undefined
  const atMs = Date.parse(text)
  return Number.isNaN(atMs) ? undefined : Math.max(0, atMs - nowMs)
}
