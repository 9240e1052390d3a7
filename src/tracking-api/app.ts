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
import { refusalAnswer, refuse, success, tryLaterMs, type Refusal } from './answer.ts'
import type { ClientConnection } from './client-context.ts'
import { Collector } from './collector.ts'
import { preflightHeaders, readableByPages } from './cross-origin.ts'
import { pixelAnswer, pixelDocument } from './pixel.ts'
import type { TrackingApiOptions } from './ports.ts'
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

interface Reading {
  readonly clock: Clock
  readonly budget: FairBudget
  readonly turns: BodyTurns
  /** Returns the network of a request's client, to which the limits per client apply. */
  readonly networkOf: (request: IncomingMessage) => string
}

interface Route {
  readonly paths: readonly string[]
  readonly method: 'get' | 'post'
  readonly decide: Decide
}

/**
 * The tracking API, to which clients of Segment's protocol post their calls. The status 200 means that the calls are
 * stored. A pixel is always answered with an image.
 */
export function trackingApp(options: TrackingApiOptions): RequestListener {
  const { clock, log } = options.runtime
  const collector = new Collector(options)
  const app = express()
  app.disable('x-powered-by')
  app.set('trust proxy', options.trustedProxies ?? 0)
  const originOf = leavePrototypes(app)
  // Without proxies, the socket's address is the client's, and reading it is faster than asking express.
  const addressOf = (request: IncomingMessage): string | undefined =>
    options.trustedProxies ? originOf(request).ip : request.socket.remoteAddress
  const reading: Reading = {
    clock,
    budget: new FairBudget(bodiesBytesMax),
    turns: new BodyTurns(),
    networkOf: (request) => clientNetwork(addressOf(request)),
  }
  const addressToldTo = (request: Request): ApiAddress =>
    addressIn(options.publicUrl) ?? apiAddress(request, originOf(request))
  addRoutes(app, { collector, originOf, addressToldTo, reading })
  const refusalOf = (error: unknown): Refusal => {
    // No error means that no route matched. A path that cannot be decoded matches none either.
    if (error === undefined || error instanceof URIError) {
      return refuse('not_found', 'There is nothing at this path')
    }
    log.warn('a request could not be handled', { error: messageOf(error) })
    const message = 'The request could not be handled; nothing was stored'
    return refuse('store_unavailable', message, tryLaterMs)
  }
  return inTurn((request, response) => {
    if (isBrowserAtRoot(request)) {
      sendAnswer(response, welcome)
      return
    }
    app(request as Request, response as Response, (error?: unknown) => {
      const refused = (): HttpAnswer => {
        const answered = collector.refused(refusalOf(error))
        return isPixel(request) && error instanceof URIError ? pixelAnswer : answered
      }
      void answer(request, response, { ...reading, decide: refused })
    })
  })
}

/** Answers every request with 503, for a service that only delivers. Clients then retry their calls. */
export function closedTrackingPort(clock: Clock): RequestListener {
  const answer = refusalAnswer(
    refuse('store_unavailable', 'This process only delivers: post to one that accepts calls'),
  )
  return (_request, response) => void sendLingering(response, answer, clock)
}

/** For people who open the API in a browser. */
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
 * objects, and each request would take twice as long. Returns a function that reads the properties that few requests
 * need.
 */
function leavePrototypes(app: Express): OriginOf {
  const known = app.request
  app.request = IncomingMessage.prototype as Request
  app.response = ServerResponse.prototype as Response
  return ({ headers, socket }) =>
    Object.assign(Object.create(known) as Request, { headers, socket })
}

interface RouteParts {
  readonly collector: Collector
  readonly originOf: OriginOf
  readonly addressToldTo: (request: Request) => ApiAddress
  readonly reading: Reading
}

/** Adds each route with and without `/v1`. A separate router for `/v1` would slow down every request. */
function addRoutes(app: Express, { reading, ...parts }: RouteParts): void {
  for (const { paths, method, decide } of trackingRoutes(parts)) {
    const methods = method === 'get' ? ['GET', 'HEAD', 'OPTIONS'] : ['POST', 'OPTIONS']
    const route = app.route(paths.flatMap((path) => [`/v1${path}`, path]))
    route[method]((request, response) =>
      answer(request, response, { ...reading, decide: (body) => decide(request, body) }),
    )
    route.options((request, response) => {
      const allowed = withHeaders(success(), preflightHeaders(request.headers, methods))
      return answer(request, response, { ...reading, decide: () => allowed })
    })
    route.all((request, response) => {
      const allow = methods.join(', ')
      const refusal = refuse('method_not_allowed', `This path accepts only ${allow}`)
      const decideRefused = (): HttpAnswer =>
        withHeaders(parts.collector.refused(refusal), { allow })
      return answer(request, response, { ...reading, decide: decideRefused })
    })
  }
}

function trackingRoutes({
  collector,
  originOf,
  addressToldTo,
}: Omit<RouteParts, 'reading'>): readonly Route[] {
  const collecting =
    (expected: Expected, isBrowserPath: boolean): Decide =>
    (request, body) =>
      collector.collect({
        expected,
        headers: request.headers,
        get query() {
          return queryOf(request)
        },
        client: clientOf(request, { isBrowserPath, originOf }),
        readDocument: () => body.document(),
      })
  const get = (path: string, decide: Decide): Route => ({ paths: [path], method: 'get', decide })
  const post = (paths: readonly string[], decide: Decide): Route => ({
    paths,
    method: 'post',
    decide,
  })
  return [
    ...Object.entries(callPaths).flatMap(([type, [path, browserPath]]) => {
      const expected = { kind: 'call', type } as const
      return [
        post([path], collecting(expected, false)),
        post([browserPath], collecting(expected, true)),
      ]
    }),
    post(batchPaths, collecting({ kind: 'batch' }, false)),
    // RudderStack's clients post here when a page closes.
    post(['/beacon/v1/batch'], collecting({ kind: 'batch' }, true)),
    // Accepts the metrics that clients send about themselves, and drops them.
    post(['/m'], () => success()),
    get('/pixel/:type', (request) => pixel(collector, request, originOf)),
    get('/projects/:writeKey/settings', (request) =>
      settings(collector, request, addressToldTo(request)),
    ),
    get('/sourceConfig', (request) => rudderSettings(collector, request)),
    get('/analytics.js/v1/:writeKey/analytics.min.js', (request) =>
      classicSnippet(addressToldTo(request)),
    ),
  ]
}

interface Answering extends Reading {
  readonly decide: (body: RequestBody) => ReturnType<Decide>
}

/**
 * Answers a request once its body is read to the end, so that the connection can be reused. If the body takes too long,
 * answers before its end.
 */
async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  { clock, budget, turns, networkOf, decide }: Answering,
): Promise<void> {
  const share = budget.share(networkOf(request))
  const body = new RequestBody(request, { clock, share, turns })
  try {
    const decided = await decide(body)
    const rest = await body.end()
    if (decided === undefined || rest === 'cut_off') return
    const readable = readableByPages(decided, request.headers)
    if (rest === 'arriving') await sendLingering(response, readable, clock)
    else sendAnswer(response, readable)
  } finally {
    body.release()
  }
}

async function pixel(
  collector: Collector,
  request: Request,
  originOf: OriginOf,
): Promise<HttpAnswer> {
  // Programs such as mail scanners send HEAD requests. They don't mean that a user opened the page.
  if (request.method === 'HEAD') return pixelAnswer
  const query = queryOf(request)
  await collector.collect({
    expected: { kind: 'call', type: String(request.params['type']) },
    headers: request.headers,
    query,
    client: clientOf(request, { isBrowserPath: true, originOf }),
    readDocument: () => Promise.resolve(pixelDocument(query)),
  })
  return pixelAnswer
}

function settings(collector: Collector, request: Request, address: ApiAddress): HttpAnswer {
  const writeKey = String(request.params['writeKey'])
  const admission = collector.admit(writeKey)
  if (admission.kind === 'refused') return collector.refused(admission)
  return projectSettings(writeKey, address)
}

function rudderSettings(collector: Collector, request: Request): HttpAnswer {
  const writeKey = headerWriteKey(request.headers) ?? bodyWriteKey({}, queryOf(request))
  const admission = collector.admit(writeKey)
  if (admission.kind === 'refused') return collector.refused(admission)
  return sourceConfig(writeKey ?? '', admission.source.id)
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

function isPixel({ url = '' }: IncomingMessage): boolean {
  return /^(?:\/v1)?\/pixel\//i.test(url)
}

function queryOf({ url }: Request): URLSearchParams {
  const start = url.indexOf('?')
  return new URLSearchParams(start === -1 ? '' : url.slice(start + 1))
}

function clientOf(
  request: Request,
  { isBrowserPath, originOf }: { readonly isBrowserPath: boolean; readonly originOf: OriginOf },
): ClientConnection {
  const { headers, socket } = request
  // Read the address now. After the client has disconnected, a socket knows its address only if it was read before.
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
