import type { RequestListener } from 'node:http'
import express, {
  type Express,
  type Request,
  type RequestHandler,
  type Response,
  type Router,
} from 'express'
import { EvrouteError, messageOf, systemCode } from '../model/index.ts'
import type { Clock, Log } from '../runtime/index.ts'
import { refuse, refuseMethod, send, type Answer } from './answer.ts'
import { foreignRequest, tokenCheck } from './guard.ts'
import { healthHandler } from './health.ts'
import { operations, type Operation } from './operations.ts'
import type { AdminApiOptions } from './ports.ts'
import { readDocument } from './read-document.ts'

/**
 * What the operator asks over HTTP. Every request must come by a name of loopback and not from a
 * foreign web page; all but `/healthz` and `/readyz` need the token. Every answer but `/metrics` is
 * JSON; a refusal is `{"error":{"code","message"}}`.
 */
export function adminApp(options: AdminApiOptions): RequestListener {
  const { ready, runtime } = options
  const { log } = runtime
  const app = createApp(options)
  const health = healthHandler(ready, log)
  return (request, response) => {
    const foreign = foreignRequest(request.headers)
    if (foreign !== undefined) {
      send(response, refuse(foreign))
      return
    }
    health(request, response, () => {
      // Whatever express does not answer comes back here, also where it finds no path in a request.
      app(request as Request, response as Response, (error?: unknown) => {
        send(response, error === undefined ? notFound : answerOfError(error, log))
      })
    })
  }
}

const notFound: Answer = refuse({
  status: 404,
  code: 'not_found',
  message: 'There is nothing at this path',
})

const unauthorized: Answer = refuse({
  status: 401,
  code: 'unauthorized',
  message: 'The token is missing or wrong; send Authorization: Bearer <token>',
  headers: { 'www-authenticate': 'Bearer realm="evroute"' },
})

function createApp(options: AdminApiOptions): Express {
  const app = express()
  app.disable('x-powered-by')
  app.set('query parser', 'simple')
  const hasToken = tokenCheck(options.token)
  const requireToken: RequestHandler = (request, response, next) => {
    if (hasToken(request.headers.authorization)) next()
    else send(response, unauthorized)
  }
  app.use('/v1', requireToken, operationsRouter(options))
  const metrics: RequestHandler = async (_request, response) => {
    const { contentType } = options.metrics
    const body = await options.metrics.text()
    send(response, { status: 200, headers: { 'content-type': contentType }, body })
  }
  app
    .route('/metrics')
    .all(requireToken)
    .get(metrics)
    .all((_request, response) => send(response, refuseMethod('GET, HEAD')))
  return app
}

function operationsRouter(options: AdminApiOptions): Router {
  const router = express.Router()
  const { clock } = options.runtime
  for (const { path, method, operation } of operations(options)) {
    const route = router.route(path)
    const allowed = method === 'get' ? 'GET, HEAD' : 'POST'
    if (method === 'get') route.get(handlerOf(operation))
    else route.post(bodyHandlerOf(operation, clock))
    route.all((_request, response) => send(response, refuseMethod(allowed)))
  }
  return router
}

function handlerOf(operation: Operation): RequestHandler {
  return async ({ query, params }, response) => {
    const signal = closeOf(response)
    send(response, await operation({ query, params, body: undefined, signal }))
  }
}

function bodyHandlerOf(operation: Operation, clock: Clock): RequestHandler {
  return async (request, response) => {
    const { query, params } = request
    const signal = closeOf(response)
    const document = await readDocument(request, clock)
    switch (document.kind) {
      case 'read':
        send(response, await operation({ query, params, body: document.value, signal }))
        break
      case 'refused':
        send(response, document.answer)
        break
      case 'cut_off':
    }
  }
}

/** Aborts when an answer is sent, or nobody waits for one any more. */
function closeOf(response: Response): AbortSignal {
  const closed = new AbortController()
  response.once('close', () => closed.abort())
  return closed.signal
}

function answerOfError(error: unknown, log: Log): Answer {
  // Express gives a status to what it throws.
  const { status } = error as { readonly status?: unknown }
  if (typeof status === 'number' && status >= 400 && status < 500) {
    return refuse({
      status: 400,
      code: 'invalid_request',
      message: 'The request cannot be understood',
    })
  }
  log.warn('a request to the admin API failed', {
    error: messageOf(error),
    code: systemCode(error),
  })
  return isStoreError(error)
    ? refuse({ status: 503, code: 'store_unavailable', message: 'The store cannot be used now' })
    : refuse({ status: 500, code: 'internal_error', message: 'The service failed to answer' })
}

function isStoreError(error: unknown): boolean {
  return (
    error instanceof EvrouteError &&
    (error.code === 'store_closed' || error.code === 'store_unusable')
  )
}
