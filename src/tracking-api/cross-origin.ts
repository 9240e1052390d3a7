import type { IncomingHttpHeaders } from 'node:http'
import { withHeaders, type HttpAnswer } from '../http/index.ts'

/** How long a browser may cache the permission: two hours, the maximum of some browsers. */
const preflightSeconds = 7_200

/**
 * Lets a page of any origin read an answer.
 *
 * Libraries of browsers before 2026 read the wait of a 429 from `X-RateLimit-Reset`, in seconds. Only browsers
 * get it: those of Node took the number for an instant, and would come again at once.
 */
export function readableByPages(answer: HttpAnswer, { origin }: IncomingHttpHeaders): HttpAnswer {
  if (origin === undefined) return withHeaders(answer, { vary: 'Origin' })
  const retryAfter = answer.status === 429 ? answer.headers['retry-after'] : undefined
  return withHeaders(answer, {
    vary: 'Origin',
    'access-control-allow-origin': origin,
    // Some pages send with credentials; there is no cookie here that could be misused.
    'access-control-allow-credentials': 'true',
    'access-control-expose-headers': 'Retry-After, X-RateLimit-Reset',
    ...(retryAfter !== undefined && { 'x-ratelimit-reset': retryAfter }),
  })
}

/** Those that let a browser's page send to a route with the headers that it asks for. */
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
    // Asked before a page on the internet reaches a service in a private network or on the same machine.
    ...(headers['access-control-request-private-network'] === 'true' && {
      'access-control-allow-private-network': 'true',
    }),
  }
}
