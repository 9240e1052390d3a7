/** An HTTP date in any of its three forms. Without this test, Date.parse would also read `1.5` or `Sun 5`. */
const httpDate = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun).* \d{2}:\d{2}:\d{2} /
/** The form of an HTTP date that ends with the year. It has no zone and means UTC. */
const zonelessDate = / \d{4}$/

/** Reads a `Retry-After` header as a wait in milliseconds, never negative; undefined if it is unreadable. */
export function parseRetryAfter(header: string | undefined, nowMs: number): number | undefined {
  const text = header?.trim() ?? ''
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1_000
  if (!httpDate.test(text)) return undefined
  const atMs = Date.parse(zonelessDate.test(text) ? `${text} GMT` : text)
  return Number.isNaN(atMs) ? undefined : Math.max(0, atMs - nowMs)
}
