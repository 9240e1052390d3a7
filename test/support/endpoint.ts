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

/** An answer in words of HTTP. */
export interface Reply {
  readonly status: number
  readonly headers?: OutgoingHttpHeaders
  readonly body?: string
  /** The answer waits for it. */
  readonly after?: Promise<unknown>
}

/**
 * Misbehaviour.
 *
 * - `hang`: never answers
 * - `reset`: resets the connection
 * - `hang-up`: closes the connection without an answer
 * - `half-close`: ends its own side without an answer and goes on listening
 * - `malformed`: answers with bytes that are not HTTP
 * - `drip`: 200 and then a byte of the body now and then, for ever
 * - `endless`: 200 and then as much body as the other side takes, for ever
 * - `cut`: 200, the beginning of the body, and then a closed connection
 */
export type Misbehaviour =
  'hang' | 'reset' | 'hang-up' | 'half-close' | 'malformed' | 'drip' | 'endless' | 'cut'

/** What an endpoint does with one request; a number is a status without a body. */
export type Answer = number | Reply | Misbehaviour

/** The answers in turn, the last one for all further requests; or a function that decides. */
export type Plan = Answer | readonly Answer[] | ((request: ReceivedRequest) => Answer)

/** A request as it arrived. */
export interface ReceivedRequest {
  readonly method: string | undefined
  /** Path and query. */
  readonly path: string | undefined
  readonly headers: IncomingHttpHeaders
  /** Names and values in turn, as they were spelled. */
  readonly rawHeaders: readonly string[]
  readonly body: Buffer
}

const dripIntervalMs = 10

/** A real server, on a free port of 127.0.0.1 unless told otherwise, that follows a plan and keeps what it receives. */
export class TestEndpoint {
  /** Address without a path. */
  readonly origin: string
  readonly requests: ReceivedRequest[] = []
  /** Connections that were accepted, whether or not a request came over them. */
  connections = 0
  /** The most connections that were open at the same time. */
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
    server.on('connection', (socket: Socket) => this.#welcome(socket))
    server.on('request', (request, response) => void this.#serve(request, response))
  }

  /** Starts one that listens until the test ends. */
  static async start(
    plan: Plan = 200,
    certificate?: Certificate & { readonly clients?: Certificate },
    { port = 0, address = '127.0.0.1' } = {},
  ): Promise<TestEndpoint> {
    const server = certificate === undefined ? createServer() : secureServer(certificate)
    // Only the other side ends a connection that is idle.
    server.keepAliveTimeout = 60_000
    server.listen(port, address)
    await once(server, 'listening')
    const endpoint = new TestEndpoint(server, plan)
    onTestFinished(() => endpoint.close())
    return endpoint
  }

  /** The URL of its hook. */
  get url(): string {
    return `${this.origin}/hook`
  }

  /** The bodies it received, parsed. */
  get bodies(): readonly unknown[] {
    return this.requests.map(({ body }) => JSON.parse(body.toString('utf8')) as unknown)
  }

  /** Resolves once that many requests arrived in all. */
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

  #welcome(socket: Socket): void {
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
    await give(this.#answerTo(received), response)
  }

  #answerTo(request: ReceivedRequest): Answer {
    const plan = this.#plan
    if (typeof plan === 'function') return plan(request)
    if (!isList(plan)) return plan
    return plan[Math.min(this.requests.length, plan.length) - 1] ?? 200
  }
}

/** The URL of a port that nobody listens on. */
export async function unreachableUrl(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return `http://127.0.0.1:${port}/hook`
}

/** A server with a certificate. With an authority of clients, it requires a certificate of them too. */
function secureServer({
  clients,
  ...certificate
}: Certificate & { readonly clients?: Certificate }): Server {
  const required = clients && { ca: clients.cert, requestCert: true }
  // An endpoint presents what it has, however weak: refusing it is the other side's part.
  return createSecureServer({ ...certificate, ...required, ciphers: 'DEFAULT@SECLEVEL=0' })
}

function isList(plan: Answer | readonly Answer[]): plan is readonly Answer[] {
  return Array.isArray(plan)
}

async function give(answer: Answer, response: ServerResponse): Promise<void> {
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
