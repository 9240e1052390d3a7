import { EventEmitter, once } from 'node:events'
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type Server,
  type ServerResponse,
} from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import type { Certificate } from './certificates.ts'

/** An HTTP answer. */
export interface Reply {
  readonly status: number
  readonly headers?: OutgoingHttpHeaders
  readonly body?: string
  /** The answer is not sent before this is fulfilled. */
  readonly after?: Promise<unknown>
}

/**
 * An answer that breaks HTTP, or that never ends.
 *
 * - `hang`: never answers
 * - `reset`: resets the connection
 * - `hang-up`: closes the connection without an answer
 * - `half-close`: ends its own side without an answer, and keeps reading
 * - `malformed`: answers with bytes that are not HTTP
 * - `drip`: 200, then one byte of the body every 10 ms, without end
 * - `endless`: 200, then as much of a body as the client reads, without end
 * - `cut`: 200 and the beginning of the body, then closes the connection
 */
export type Misbehaviour =
  'hang' | 'reset' | 'hang-up' | 'half-close' | 'malformed' | 'drip' | 'endless' | 'cut'

/** How an endpoint answers one request. A number is a status without a body. */
export type Answer = number | Reply | Misbehaviour

/** One answer per request, where the last one is repeated, or a function that chooses the answer. */
export type Plan = Answer | readonly Answer[] | ((request: ReceivedRequest) => Answer)

/** A request as it arrived. */
export interface ReceivedRequest {
  readonly method: string | undefined
  /** The path and the query. */
  readonly path: string | undefined
  readonly headers: IncomingHttpHeaders
  /** Alternating names and values, with the case of letters as sent. */
  readonly rawHeaders: readonly string[]
  readonly body: Buffer
}

const dripIntervalMs = 10

/** A real HTTP or HTTPS server that answers by a plan and records its requests. */
export class TestEndpoint {
  /** The scheme, address and port. */
  readonly origin: string
  readonly requests: ReceivedRequest[] = []
  /** The number of connections accepted so far, with or without a request. */
  connections = 0
  /** The maximum of connections open at the same time. */
  openConnectionsMax = 0
  readonly #server: Server
  readonly #plan: Plan
  readonly #sockets = new Set<Socket>()
  readonly #arrivals = new EventEmitter()

  private constructor(server: Server, plan: Plan) {
    this.#server = server
    this.#plan = plan
    const scheme = 'setSecureContext' in server ? 'https' : 'http'
    const { address, port } = server.address() as AddressInfo
    this.origin = `${scheme}://${address}:${port}`
    server.on('connection', (socket: Socket) => this.#accept(socket))
    server.on('request', (request, response) => {
      this.#serve(request, response).catch((error: unknown) => {
        // A sender may give up in the middle of a body.
        if (request.complete) throw error
      })
    })
  }

  /** Starts an endpoint that listens until the test ends, by default on a free port of 127.0.0.1. */
  static async start(
    plan: Plan = 200,
    certificate?: Certificate & { readonly clients?: Certificate },
    { port = 0, address = '127.0.0.1' } = {},
  ): Promise<TestEndpoint> {
    const server = certificate === undefined ? createServer() : secureServer(certificate)
    // Only the client should close idle connections.
    server.keepAliveTimeout = 60_000
    server.listen(port, address)
    await once(server, 'listening')
    const endpoint = new TestEndpoint(server, plan)
    onTestFinished(() => endpoint.close())
    return endpoint
  }

  /** The URL to send webhooks to. */
  get url(): string {
    return `${this.origin}/hook`
  }

  /** The bodies of the requests, parsed as JSON. */
  get bodies(): readonly unknown[] {
    return this.requests.map(({ body }) => JSON.parse(body.toString('utf8')) as unknown)
  }

  /** Resolves once `count` requests in total have arrived. */
  async received(count: number): Promise<void> {
    while (this.requests.length < count) await once(this.#arrivals, 'request')
  }

  /** Resolves once no connection is open. */
  async disconnected(): Promise<void> {
    while (this.#sockets.size > 0) await once(this.#arrivals, 'close')
  }

  /** Stops listening and closes all connections. */
  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()))
    for (const socket of this.#sockets) socket.destroy()
    await closed
  }

  #accept(socket: Socket): void {
    this.connections++
    this.#sockets.add(socket)
    this.openConnectionsMax = Math.max(this.openConnectionsMax, this.#sockets.size)
    socket.on('error', () => undefined)
    socket.on('close', () => {
      this.#sockets.delete(socket)
      this.#arrivals.emit('close')
    })
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    await once(request, 'end')
    const { method, url: path, headers, rawHeaders } = request
    const received = { method, path, headers, rawHeaders, body: Buffer.concat(chunks) }
    this.requests.push(received)
    this.#arrivals.emit('request')
    await respond(this.#answerTo(received), response)
  }

  #answerTo(request: ReceivedRequest): Answer {
    const plan = this.#plan
    if (typeof plan === 'function') return plan(request)
    if (!isList(plan)) return plan
    return plan[Math.min(this.requests.length, plan.length) - 1] ?? 200
  }
}

/** Creates an HTTPS server. With `clients`, it requires a client certificate signed by that authority. */
function secureServer({
  clients,
  ...certificate
}: Certificate & { readonly clients?: Certificate }): Server {
  const required = clients && { ca: clients.cert, requestCert: true }
  // Allows weak certificates: whether to refuse them is the client's decision.
  return createSecureServer({ ...certificate, ...required, ciphers: 'DEFAULT@SECLEVEL=0' })
}

function isList(plan: Answer | readonly Answer[]): plan is readonly Answer[] {
  return Array.isArray(plan)
}

async function respond(answer: Answer, response: ServerResponse): Promise<void> {
  if (typeof answer === 'number') response.writeHead(answer).end()
  else if (typeof answer === 'string') misbehave(answer, response)
  else {
    await answer.after
    response.writeHead(answer.status, answer.headers).end(answer.body)
  }
}

function misbehave(how: Misbehaviour, response: ServerResponse): void {
  const socket = response.socket as Socket
  switch (how) {
    case 'hang':
      return
    case 'reset':
      socket.resetAndDestroy()
      return
    case 'hang-up':
      socket.destroy()
      return
    case 'half-close':
      socket.end()
      return
    case 'malformed':
      socket.write('these bytes are not HTTP\r\n\r\n')
      return
    case 'drip':
      drip(response)
      return
    case 'endless':
      pour(response)
      return
    case 'cut':
      response.writeHead(200, { 'content-length': 100 })
      response.write('the beginning', () => socket.destroy())
  }
}

function drip(response: ServerResponse): void {
  response.writeHead(200)
  const timer = setInterval(() => response.write('.'), dripIntervalMs)
  response.once('close', () => clearInterval(timer))
}

function pour(response: ServerResponse): void {
  const chunk = Buffer.alloc(16 * 1024, '.')
  const write = (): void => {
    while (!response.destroyed && response.write(chunk));
    if (!response.destroyed) response.once('drain', write)
  }
  write()
}
