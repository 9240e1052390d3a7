import type { IncomingMessage, ServerResponse } from 'node:http'

/** How long a browser may remember what it may send: two hours, the most that some of them do. */
const preflightSeconds = 7_200

/** Lets the page of a browser's request read the answer, whatever its origin. */
export function allowOrigin(request: IncomingMessage, response: ServerResponse): void {
  response.setHeader('vary', 'Origin')
  const { origin } = request.headers
  if (origin === undefined) return
  response.setHeader('access-control-allow-origin', origin)
  // Some pages send with credentials; there is no cookie here that could be misused.
  response.setHeader('access-control-allow-credentials', 'true')
  response.setHeader('access-control-expose-headers', 'Retry-After')
}

/** Lets a browser's page send to a route with the headers that it asks for. */
export function allowRequest(
  request: IncomingMessage,
  response: ServerResponse,
  methods: readonly string[],
): void {
  response.setHeader('allow', methods.join(', '))
  if (request.headers.origin === undefined) return
  response.setHeader('vary', 'Origin, Access-Control-Request-Headers')
  response.setHeader('access-control-allow-methods', methods.join(', '))
  response.setHeader('access-control-max-age', String(preflightSeconds))
  const headers = request.headers['access-control-request-headers']
  if (headers !== undefined) response.setHeader('access-control-allow-headers', headers)
}
