import type { IncomingHttpHeaders } from 'node:http'

/** Version, trace id, span id and flags of W3C Trace Context. Versions above 00 may append more after a hyphen. */
const form = /^(?!ff)([\da-f]{2})-(?!0{32})([\da-f]{32})-(?!0{16})([\da-f]{16})-([\da-f]{2})(-.*)?$/

/**
 * Returns the trace context of a request as a `traceparent` of version 00; undefined if it is missing or invalid. From
 * a higher version, keeps the ids and whether the trace is sampled, as the standard requires.
 */
export function traceparentOf(headers: IncomingHttpHeaders): string | undefined {
  const { traceparent } = headers
  if (typeof traceparent !== 'string') return undefined
  const [, version, traceId, spanId, flags = '', more] = form.exec(traceparent) ?? []
  if (version === undefined) return undefined
  if (version === '00') return more === undefined ? traceparent : undefined
  const isSampled = (Number.parseInt(flags, 16) & 1) === 1
  return `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`
}
