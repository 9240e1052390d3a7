import type { IncomingHttpHeaders } from 'node:http'
import { withHeaders, type HttpAnswer } from '../http/index.ts'

/** How long a browser may cache the permission: two hours, the most that some browsers allow. */
const preflightSeconds = 7_200

/**
 * Lets pages from any origin read an answer. Browser libraries from before 2026 read `X-RateLimit-Reset` in seconds.
 * A request without an origin doesn't get it, because Node libraries would read it as a point in time.
 */
export function readableByPages(answer: HttpAnswer, { origin }: IncomingHttpHeaders): HttpAnswer {
  if (origin === undefined) return withHeaders(answer, { vary: 'Origin' })
  const retryAfter = answer.status === 429 ? answer.headers['retry-after'] : undefined
  return withHeaders(answer, {
    vary: 'Origin',
    'access-control-allow-origin': origin,
    // Some pages send credentials. Allowing that is safe, because this API has no cookies to misuse.
    'access-control-allow-credentials': 'true',
    'access-control-expose-headers': 'Retry-After, X-RateLimit-Reset',
    ...(retryAfter !== undefined && { 'x-ratelimit-reset': retryAfter }),
  })
}

/** Returns the headers that answer a CORS preflight: allow the route's methods and all requested headers. */
export function preflightHeaders(
  headers: IncomingHttpHeaders,
  methods: readonly string[],
): Readonly<Record<string, string>> {
  const allow = methods.join(', ')
  const { origin, 'access-control-request-headers': requested } = headers
  if (origin === undefined) return { allow }
  return {
    allow,
    vary: 'Origin, Access-Control-Request-Headers',
    'access-control-allow-methods': allow,
    'access-control-max-age': String(preflightSeconds),
    ...(requested !== undefined && { 'access-control-allow-headers': requested }),
    // Browsers ask for this before they let a public page reach a private network or the same machine.
    ...(headers['access-control-request-private-network'] === 'true' && {
      'access-control-allow-private-network': 'true',
    }),
  }
}
