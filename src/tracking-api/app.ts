import { IncomingMessage, ServerResponse, type RequestListener } from 'node:http'
import express, { type Express, type Request, type Response } from 'express'
import {
  BodyTurns,
  FairBudget,
  clientNetwork,
  inTurn,
  isBrowserAtRoot,
  sendAnswer,
  sendLingering,
  withHeaders,
  type HttpAnswer,
} from '../http/index.ts'
import { messageOf, type CallType } from '../model/index.ts'
import type { Clock } from '../runtime/index.ts'
import { refusalAnswer, refuse, success } from './answer.ts'
import type { ClientConnection } from './client-context.ts'
import { Collector } from './collector.ts'
import { preflightHeaders, readableByPages } from './cross-origin.ts'
import { pixelAnswer, pixelDocument } from './pixel.ts'
import type { TrackingApiOptions, TrackingSource } from './ports.ts'
import {
  classicSnippet,
  projectSettings,
  sourceConfig,
  type ApiAddress,
} from './project-settings.ts'
import type { Expected } from './read-calls.ts'
import { RequestBody } from './request-body.ts'
import { bodyWriteKey, headerWriteKey } from './write-key.ts'

/**
 * Maximum memory for bodies that are being read, inflated and stored. A body that doesn't fit is refused with
 * `queue_full`. If there is only one client, it may use half of the memory, which is 64 of the largest bodies.
 */
const bodiesBytesMax = 64 * 1024 * 1024

const batchPaths = ['/batch', '/import', '/b']

/** The two paths of each type, most frequent type first. Browsers use the second. */
const callPaths: Readonly<Record<CallType, readonly [string, string]>> = {
  track: ['/track', '/t'],
  identify: ['/identify', '/i'],
  page: ['/page', '/p'],
  screen: ['/screen', '/s'],
  group: ['/group', '/g'],
  alias: ['/alias', '/a'],
}

/** Decides the answer to a request; undefined if the client has disconnected. */
type Decide = (
  request: Request,
  body: RequestBody,
) => HttpAnswer | undefined | Promise<HttpAnswer | undefined>

interface Route {
  readonly paths: readonly string[]
  readonly method: 'get' | 'post'
  readonly decide: Decide
}

/** The tracking API for clients of Segment's protocol. 200 means that calls are stored; a pixel always gets 200. */
export function trackingApp(options: TrackingApiOptions): RequestListener {
  const app = express()
  app.disable('x-powered-by')
  app.set('trust proxy', options.trustedProxies ?? 0)
  const api = new TrackingApi(options, leavePrototypes(app))
  api.addRoutes(app)
  return inTurn((request, response) => {
    if (isBrowserAtRoot(request)) {
      sendAnswer(response, welcome)
      return
    }
    app(request as Request, response as Response, (error?: unknown) => {
      const decide: Decide = (unmatched) => api.refusedFor(unmatched, error)
      void api.answer(request as Request, response, decide)
    })
  })
}

/** Answers every request with 503, for a service that only delivers. Clients then retry their calls. */
export function closedTrackingPort(clock: Clock): RequestListener {
  const answer = refusalAnswer(
    refuse('store_unavailable', 'This process only delivers: send calls to one that accepts them'),
  )
  return (_request, response) => void sendLingering(response, answer, clock)
}

const welcome: HttpAnswer = {
  status: 404,
  headers: { 'content-type': 'text/plain; charset=utf-8' },
  body: `This is the tracking API of an evroute service. SDKs send calls here: POST /v1/batch, /v1/track and others.
The page of the service is on its admin port. \`evroute serve\` prints its address.
`,
}

/** Returns the client's address, and the protocol and host it used. express reads them from proxies' headers. */
type OriginOf = (request: IncomingMessage) => Pick<Request, 'ip' | 'protocol' | 'host'>

/**
 * Stops express from changing the prototypes of requests and responses. V8 would drop its optimisations for these
 * objects, and each request would take twice as long. Returns a function for the properties that few requests need.
 */
function leavePrototypes(app: Express): OriginOf {
  const known = app.request
  app.request = IncomingMessage.prototype as Request
  app.response = ServerResponse.prototype as Response
  return ({ headers, socket }) =>
    Object.assign(Object.create(known) as Request, { headers, socket })
}

class TrackingApi {
  readonly #options: TrackingApiOptions
  readonly #originOf: OriginOf
  readonly #collector: Collector
  readonly #budget = new FairBudget(bodiesBytesMax)
  readonly #turns = new BodyTurns()

  constructor(options: TrackingApiOptions, originOf: OriginOf) {
    this.#options = options
    this.#originOf = originOf
    this.#collector = new Collector(options)
  }

  /** Adds each route with and without `/v1`. A separate router for `/v1` would slow down every request. */
  addRoutes(app: Express): void {
    for (const { paths, method, decide } of this.#routes()) {
      const methods = method === 'get' ? ['GET', 'HEAD', 'OPTIONS'] : ['POST', 'OPTIONS']
      const allow = methods.join(', ')
      const refusal = refuse('method_not_allowed', `This path accepts only ${allow}`)
      const route = app.route(paths.flatMap((path) => [`/v1${path}`, path]))
      route[method]((request, response) => this.answer(request, response, decide))
      route.options((request, response) =>
        this.answer(request, response, ({ headers }) =>
          withHeaders(success(), preflightHeaders(headers, methods)),
        ),
      )
      route.all((request, response) =>
        this.answer(request, response, () =>
          withHeaders(this.#collector.refused(refusal), { allow }),
        ),
      )
    }
  }

  /** Answers after the whole body, so that the connection can be reused. Answers sooner if the body takes too long. */
  async answer(request: Request, response: ServerResponse, decide: Decide): Promise<void> {
    const { clock } = this.#options.runtime
    const share = this.#budget.share(clientNetwork(this.#addressOf(request)))
    const body = new RequestBody(request, { clock, share, turns: this.#turns })
    try {
      const decided = await decide(request, body)
      const rest = await body.end()
      if (decided === undefined || rest === 'cut_off') return
      const readable = readableByPages(decided, request.headers)
      if (rest === 'arriving') await sendLingering(response, readable, clock)
      else sendAnswer(response, readable)
    } finally {
      share.release()
    }
  }

  refusedFor({ url }: Request, error: unknown): HttpAnswer {
    // A path that cannot be decoded matches no route either.
    if (error === undefined || error instanceof URIError) {
      const refused = this.#collector.refused(refuse('not_found', 'There is nothing at this path'))
      return error !== undefined && pixelPath.test(url) ? pixelAnswer : refused
    }
    const { log } = this.#options.runtime
    log.warn('a request could not be handled', { error: messageOf(error) })
    const message = 'The request could not be handled; nothing was stored'
    return this.#collector.refused(refuse('store_unavailable', message))
  }

  #routes(): readonly Route[] {
    const get = (path: string, decide: Decide): Route => ({ paths: [path], method: 'get', decide })
    const post = (paths: readonly string[], decide: Decide): Route => ({
      paths,
      method: 'post',
      decide,
    })
    return [
      ...Object.entries(callPaths).flatMap(([type, [path, browserPath]]) => [
        post([path], this.#collecting({ kind: 'call', type }, false)),
        post([browserPath], this.#collecting({ kind: 'call', type }, true)),
      ]),
      post(batchPaths, this.#collecting({ kind: 'batch' }, false)),
      // RudderStack's clients post here when a page closes.
      post(['/beacon/v1/batch'], this.#collecting({ kind: 'batch' }, true)),
      // Accepts the metrics that clients send about themselves, and drops them.
      post(['/m'], () => success()),
      get('/pixel/:type', (request) => this.#pixel(request)),
      get('/projects/:writeKey/settings', (request) => {
        const writeKey = String(request.params['writeKey'])
        return this.#admitted(writeKey, () => projectSettings(writeKey, this.#addressFor(request)))
      }),
      get('/sourceConfig', (request) => {
        const writeKey = headerWriteKey(request.headers) ?? bodyWriteKey({}, queryOf(request))
        return this.#admitted(writeKey, ({ id }) => sourceConfig(writeKey ?? '', id))
      }),
      get('/analytics.js/v1/:writeKey/analytics.min.js', (request) =>
        classicSnippet(this.#addressFor(request)),
      ),
    ]
  }

  #collecting(expected: Expected, isBrowserPath: boolean): Decide {
    return (request, body) =>
      this.#collector.collect({
        expected,
        headers: request.headers,
        get query() {
          return queryOf(request)
        },
        client: this.#clientOf(request, isBrowserPath),
        readDocument: () => body.document(),
      })
  }

  async #pixel(request: Request): Promise<HttpAnswer> {
    // HEAD requests come from programs such as mail scanners, not from a user who opened the page.
    if (request.method === 'HEAD') return pixelAnswer
    const query = queryOf(request)
    await this.#collector.collect({
      expected: { kind: 'call', type: String(request.params['type']) },
      headers: request.headers,
      query,
      client: this.#clientOf(request, true),
      readDocument: () => Promise.resolve(pixelDocument(query)),
    })
    return pixelAnswer
  }

  #admitted(
    writeKey: string | undefined,
    answerFor: (source: TrackingSource) => HttpAnswer,
  ): HttpAnswer {
    const admission = this.#collector.admit(writeKey)
    return admission.kind === 'refused'
      ? this.#collector.refused(admission)
      : answerFor(admission.source)
  }

  #clientOf(request: Request, isBrowserPath: boolean): ClientConnection {
    const { headers, socket } = request
    const originOf = this.#originOf
    // Read the address now. The socket caches it; once the client has disconnected, a first read returns undefined.
    const { remoteAddress } = socket
    let ip: string | undefined
    return {
      // A getter, because few calls need the address, and express parses the proxies' headers each time.
      get ip() {
        return (ip ??= originOf(request).ip ?? remoteAddress)
      },
      userAgent: headers['user-agent'],
      isBrowser: isBrowserPath || headers.origin !== undefined,
    }
  }

  /** Without proxies, the socket's address is the client's, and reading it is faster than asking express. */
  #addressOf(request: Request): string | undefined {
    return this.#options.trustedProxies ? this.#originOf(request).ip : request.socket.remoteAddress
  }

  /** Returns the address that clients should use: the public URL, or else the address that this client used. */
  #addressFor(request: Request): ApiAddress {
    return addressIn(this.#options.publicUrl) ?? apiAddress(request, this.#originOf(request))
  }
}

/** Returns the address that a client used, from its own headers and those that proxies added. */
function apiAddress(request: Request, origin: ReturnType<OriginOf>): ApiAddress {
  return {
    // The protocol comes from a proxy's header, which may contain anything.
    protocol: origin.protocol === 'https' ? 'https' : 'http',
    // HTTP/1.0 clients may send no Host header.
    host: origin.host || `127.0.0.1:${request.socket.localPort ?? ''}`,
  }
}

/** Splits a public URL into its protocol and the rest: host, port and path. */
function addressIn(publicUrl: string | undefined): ApiAddress | undefined {
  const [protocol, host] = publicUrl?.split('://') ?? []
  return protocol === undefined || host === undefined ? undefined : { protocol, host }
}

const pixelPath = /^(?:\/v1)?\/pixel\//i

function queryOf({ url }: Request): URLSearchParams {
  const start = url.indexOf('?')
  return new URLSearchParams(start === -1 ? '' : url.slice(start + 1))
}
