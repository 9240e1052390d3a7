import type { IncomingHttpHeaders } from 'node:http'

/** How long a browser may cache the permission: two hours, the maximum of some browsers. */
const preflightSeconds = 7_200

/** Headers of every answer: they let a page of any origin read it. */
export function originHeaders({ origin }: IncomingHttpHeaders): Readonly<Record<string, string>> {
  if (origin === undefined) return { vary: 'Origin' }
  return {
    vary: 'Origin',
    'access-control-allow-origin': origin,
    // Some pages send with credentials; there is no cookie here that could be misused.
    'access-control-allow-credentials': 'true',
    'access-control-expose-headers': 'Retry-After',
  }
}

/** Those that let a browser's page send to a route with the headers that it asks for. */
export function preflightHeaders(
  { origin, 'access-control-request-headers': requested }: IncomingHttpHeaders,
  methods: readonly string[],
): Readonly<Record<string, string>> {
  const allow = methods.join(', ')
  if (origin === undefined) return { allow }
  return {
    allow,
    vary: 'Origin, Access-Control-Request-Headers',
    'access-control-allow-methods': allow,
    'access-control-max-age': String(preflightSeconds),
    ...(requested !== undefined && { 'access-control-allow-headers': requested }),
  }
}
