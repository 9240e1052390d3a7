import { createHash } from 'node:crypto'
import type { IncomingMessage, RequestListener } from 'node:http'
import express, {
  type Express,
  type Request,
  type RequestHandler,
  type Response,
  type Router,
} from 'express'
import {
  closeOf,
  foreignSign,
  isBrowserAtRoot,
  isForeignOrigin,
  isLoopbackAddress,
  tokenCheck,
  type ConnectionLimits,
} from '../http/index.ts'
import type { Log, LogFields } from '../runtime/index.ts'
import {
  json,
  noteWrongToken,
  refusalOfFailure,
  refuse,
  refuseMethod,
  send,
  type Refusal,
} from './answer.ts'
import { healthHandler } from './health.ts'
import type { ApiOperation, ApiRecord, StreamingInput } from './operation.ts'
import { operations } from './operations.ts'
import type { AdminApiOptions } from './ports.ts'
import { readDocument } from './read-document.ts'
import { readFields } from './read-fields.ts'
import { streamAnswer } from './streaming.ts'

/**
 * The admin API. Refuses requests from foreign web pages. All paths except `/healthz` and `/readyz` need the admin
 * token; `/metrics` also accepts the metrics token. The page below `/_evroute/` uses session cookies instead.
 */
export function adminApp(options: AdminApiOptions): RequestListener {
  const { access, ready, runtime } = options
  const { log } = runtime
  const app = createApp(options)
  const health = healthHandler(ready, log)
  return (request, response) => {
    const foreign = foreignRequest(request, access.host)
    if (foreign !== undefined) {
      send(response, foreign)
      return
    }
    if (isBrowserAtRoot(request)) {
      send(response, { status: 303, headers: { location: '/_evroute/' }, body: '' })
      return
    }
    health(request, response, () => {
      // Express calls this for errors, and for requests that no route answers.
      app(request as Request, response as Response, (error?: unknown) => {
        send(response, error === undefined ? notFound : answerOfError(error, log))
      })
    })
  }
}

/** Refuses requests from foreign web pages. On a loopback address, also refuses a foreign Host (DNS rebinding). */
function foreignRequest(
  { headers, url }: IncomingMessage,
  listenHost: string,
): Refusal | undefined {
  if (isLoopbackAddress(listenHost) && foreignSign(headers) === 'foreign_host') {
    const message = 'Use a loopback name or address for the admin API, such as localhost'
    return refuse('host_not_allowed', message)
  }
  if (!isForeignOrigin(headers, url)) return undefined
  const message = 'The admin API accepts no requests from web pages on a different origin'
  return refuse('origin_not_allowed', message)
}

/** No timeout for whole requests, because uploads may take hours. Each reader of a body has its own timeout. */
export const adminConnectionLimits: Pick<ConnectionLimits, 'requestTimeoutMs'> = Object.freeze({
  requestTimeoutMs: 0,
})

const notFound = refuse(
  'not_found',
  'There is nothing at this path; the page is at /_evroute/, and /openapi.json describes the API',
)

const unauthorized = refuse(
  'unauthorized',
  'The token is missing or wrong; send Authorization: Bearer <token>',
  { 'www-authenticate': 'Bearer realm="evroute"' },
)

function createApp(options: AdminApiOptions): Express {
  const app = express()
  app.disable('x-powered-by')
  app.set('query parser', 'simple')
  const { token, metricsToken } = options.access
  const table = operations(options)
  const router = operationsRouter(table, options)
  app.use('/v1', requireToken(options, token), router)
  app
    .route('/openapi.json')
    .all(requireToken(options, token))
    .get(async (_request, response) => {
      const { openApiDocument } = await import('./openapi.ts')
      send(response, json(200, openApiDocument(table)))
    })
    .all((_request, response) => send(response, refuseMethod('GET, HEAD')))
  app.use('/_evroute', lazyPage(options, router))
  app
    .route('/metrics')
    .all(requireToken(options, token, ...(metricsToken === null ? [] : [metricsToken])))
    .get(async (_request, response) => {
      const { contentType } = options.metrics
      const body = await options.metrics.text()
      send(response, { status: 200, headers: { 'content-type': contentType }, body })
    })
    .all((_request, response) => send(response, refuseMethod('GET, HEAD')))
  return app
}

function requireToken(options: AdminApiOptions, ...tokens: readonly string[]): RequestHandler {
  const checks = tokens.map((token) => ({ hasToken: tokenCheck(token), name: tokenName(token) }))
  return (request, response, next) => {
    const { authorization } = request.headers
    const [found] = checks.filter(({ hasToken }) => hasToken(authorization))
    if (found === undefined) {
      if (authorization !== undefined) noteWrongToken(request, options)
      send(response, unauthorized)
      return
    }
    response.locals['caller'] = found.name
    next()
  }
}

/** Names a token in the log by a short hash, which distinguishes an old token from a new one. */
function tokenName(token: string): string {
  return `token ${createHash('sha256').update(token).digest('hex').slice(0, 8)}`
}

function lazyPage(options: AdminApiOptions, operations: Router): RequestHandler {
  let page: Promise<Router> | undefined
  return async (request, response, next) => {
    page ??= import('./page.ts').then(({ pageRouter }) => pageRouter(options, operations))
    const router = await page
    router(request, response, next)
  }
}

function operationsRouter(table: readonly ApiOperation[], options: AdminApiOptions): Router {
  const router = express.Router()
  const routeOf = (path: string): string => path.replace(/\{(\w+)\}/g, ':$1')
  for (const entry of table) router[entry.method](routeOf(entry.path), handlerOf(entry, options))
  // Add the 405 answers last: those of `/audiences/{key}` would also refuse a sync at `/audiences/sync`.
  for (const { path } of table) {
    const methods = table.filter((entry) => entry.path === path).map(({ method }) => method)
    const allowed = methods.map((method) => (method === 'get' ? 'GET, HEAD' : 'POST')).join(', ')
    router.all(routeOf(path), (_request, response) => send(response, refuseMethod(allowed)))
  }
  return router
}

function handlerOf(entry: ApiOperation, { actions, runtime }: AdminApiOptions): RequestHandler {
  const { clock } = runtime
  const isStreaming = 'stream' in entry
  return async (request, response) => {
    const { method, path, params, query } = request
    const signal = closeOf(response)
    const done = (record: ApiRecord): void =>
      actions('admin action', {
        by: String(response.locals['caller']),
        path,
        ...actionFields(record),
      })
    const content =
      method === 'POST' && !isStreaming
        ? await readDocument(request, { clock, bytesMax: entry.bodyBytesMax })
        : { value: query }
    if (content === undefined) return
    const isComplete = 'error' in content || entry.reads === undefined
    const reading = isComplete ? content : readFields(entry.reads, content.value)
    if ('error' in reading) send(response, reading)
    else if (isStreaming) {
      const work = (input: StreamingInput) => entry.stream(reading.value, input)
      await streamAnswer(request, response, { ...runtime, work, done })
    } else {
      const answer = await entry.run(reading.value, { params, signal })
      if (method === 'POST' && answer.record !== undefined) done(answer.record)
      send(response, answer)
    }
  }
}

/** Makes the log fields of an action from its record: its id, outcome and numbers. User ids are only counted. */
function actionFields(record: ApiRecord): LogFields {
  const { id, outcome, dryRun, subjectIds } = record
  return {
    ...(typeof id === 'string' ? { id } : {}),
    ...(typeof outcome === 'string' ? { outcome } : {}),
    ...(dryRun === true ? { dryRun } : {}),
    ...(Array.isArray(subjectIds) ? { subjects: subjectIds.length } : {}),
    ...Object.fromEntries(Object.entries(record).filter(([, value]) => typeof value === 'number')),
  }
}

function answerOfError(error: unknown, log: Log): Refusal {
  // Errors from Express have a status.
  const { status } = error as { readonly status?: unknown }
  return typeof status === 'number' && status >= 400 && status < 500
    ? refuse('invalid_request', 'The request cannot be understood')
    : refusalOfFailure(error, log)
}
