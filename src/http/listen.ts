import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import { EvrouteError, messageOf, systemCode } from '../model/index.ts'
import { silentLog, systemClock, type Log } from '../runtime/index.ts'
import { boundUnreadAnswers, limitConnections } from './connection-limits.ts'
import { lingerOver } from './read-body.ts'
import { answerFaults, requireHost, type AnswerFault } from './request-fault.ts'
import type { SecureServer } from './secure-server.ts'
import type { TlsFiles } from './tls-files.ts'

/** Where to listen: a host name or an address of this machine, and a port. */
export interface ListenAddress {
  readonly host: string
  /** 1 to 65535, or 0 for a free port. */
  readonly port: number
}

/** Limits on a server's connections and requests. {@link defaultConnectionLimits} explains each. */
export type ConnectionLimits = Readonly<Record<keyof typeof defaultConnectionLimits, number>>

/** The default limits of every port. */
export const defaultConnectionLimits = Object.freeze({
  /** How long a request's line and headers may take to arrive. */
  headersTimeoutMs: 10_000,
  /** How long a request may take to arrive. Longer than `bodyDeadlineMs` and `lingerMs` together, which apply first. */
  requestTimeoutMs: 60_000,
  // Load balancers keep connections for 60 s (nginx, AWS). A server that closes one earlier may do so while the balancer
  // is sending a request, and the client gets a reset or a 502.
  keepAliveTimeoutMs: 75_000,
  // Twice Node's limit, because browsers send all cookies of a site in the headers, and tracking pixels send a whole
  // call in the URL.
  headersBytesMax: 32 * 1024,
  /** Maximum open connections. A client on its own gets at most half of them. */
  connectionsMax: 10_000,
  /** How long a client may take to read an answer that exceeds the system's buffers. */
  answerReadTimeoutMs: 10_000,
})

/** The limits of a server, its certificate, and its answers to faulty requests. */
export interface ListenOptions extends Partial<ConnectionLimits> {
  /** The certificate for https; undefined for http. */
  readonly tls?: Pick<TlsFiles, 'current'> | undefined
  /** Makes the answers to faulty requests. Without it, Node answers with a bare status. */
  readonly answerFault?: AnswerFault
  /** Gets a warning for each connection that cannot be accepted, such as for lack of file descriptors. */
  readonly log?: Pick<Log, 'warn'>
}

/** A server that is listening, with the address that it is bound to. */
export interface Listening {
  readonly server: Server
  /** The bound port, even if the given port was 0. */
  readonly port: number
  /** The server's address as a URL without a path or trailing slash. */
  readonly url: string
  /** Returns the TCP connection below a TLS connection; without TLS, the connection itself. */
  readonly below: SecureServer['below']
  /** Stops listening. Closes connections once their requests have ended, or after `graceMs` (default 500, real time). */
  close(graceMs?: number): Promise<void>
}

/** Starts an HTTP server; resolves once it accepts connections. Throws `port_in_use` or `cannot_listen`. */
export async function listen(
  handler: RequestListener,
  address: ListenAddress,
  options: ListenOptions = {},
): Promise<Listening> {
  const secured = await serverOf(handler, options)
  const { server, below } = secured
  const { log = silentLog } = options
  // Ignore unknown `Expect` headers, as HTTP allows. Node would answer 417 without a body.
  server.on('checkExpectation', (request, response) => server.emit('request', request, response))
  const unanswered = answersOf(server)
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen(address.port, address.host, resolve)
    })
  } catch (error) {
    throw listenError(error, address)
  }
  // Without a listener, a connection that cannot be accepted would end the process.
  server.on('error', (error) => log.warn('cannot accept a connection', { error: messageOf(error) }))
  const { port } = server.address() as AddressInfo
  const host = address.host.includes(':') ? `[${address.host}]` : address.host
  return {
    server,
    below,
    port,
    url: `${options.tls === undefined ? 'http' : 'https'}://${host}:${port}`,
    close: (graceMs = 500) => {
      for (const response of unanswered) announceClosing(response)
      return closeServer(secured, graceMs)
    },
  }
}

async function serverOf(
  handler: RequestListener,
  { answerFault, tls, ...given }: ListenOptions,
): Promise<SecureServer> {
  const limits = { ...defaultConnectionLimits, ...given }
  const options = {
    headersTimeout: limits.headersTimeoutMs,
    requestTimeout: limits.requestTimeoutMs,
    keepAliveTimeout: limits.keepAliveTimeoutMs,
    maxHeaderSize: limits.headersBytesMax,
    // By default, Node checks only every 30 s, so a timeout could last 30 s longer.
    connectionsCheckingInterval: Math.ceil(limits.headersTimeoutMs / 4),
    requireHostHeader: answerFault === undefined,
  }
  const answering = answerFault === undefined ? handler : requireHost(handler, answerFault)
  const secured = tls && (await import('./secure-server.ts')).secureServer(options, answering, tls)
  const server = secured?.server ?? createServer(options, answering)
  // By default, Node drops all headers after the first 1,000. Their bytes are limited anyway.
  server.maxHeadersCount = 0
  if (answerFault !== undefined) answerFaults(server, answerFault)
  limitConnections(server, limits.connectionsMax)
  boundUnreadAnswers(server, limits.answerReadTimeoutMs)
  const closeConnections = (): void => server.closeAllConnections()
  return secured ?? { server, closeConnections, below: (socket) => socket }
}

/** Tracks unsent answers, so that they can say `connection: close` once the server closes. */
function answersOf(server: Server): ReadonlySet<ServerResponse> {
  const unanswered = new Set<ServerResponse>()
  server.prependListener('request', (request, response) => {
    unanswered.add(response)
    if (!server.listening) announceClosing(response)
    response.prependOnceListener('finish', () => void boundRest(request))
    response.once('close', () => {
      unanswered.delete(response)
      // An idle connection would delay the closing of the server.
      if (!server.listening) server.closeIdleConnections()
    })
  })
  return unanswered
}

function announceClosing(response: ServerResponse): void {
  if (!response.headersSent) response.setHeader('connection', 'close')
}

/** Reads a limited part of a body after its request was answered. Node would read and discard any length. */
async function boundRest(request: IncomingMessage): Promise<void> {
  if (request.complete) return
  if ((await lingerOver(request, systemClock)) === 'stopped') request.destroy()
}

function closeServer({ server, closeConnections }: SecureServer, graceMs: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = systemClock.schedule(graceMs, closeConnections)
    server.close(() => {
      timer.cancel()
      resolve()
    })
  })
}

function listenError(error: unknown, { host, port }: ListenAddress): EvrouteError {
  if (systemCode(error) === 'EADDRINUSE') {
    return new EvrouteError({
      code: 'port_in_use',
      message: `Cannot listen on port ${port}: another process is using it`,
      hint: 'Pass --port 0 for a free one.',
      cause: error,
    })
  }
  return new EvrouteError({
    code: 'cannot_listen',
    message: `Cannot listen on ${host} port ${port}: ${messageOf(error)}`,
    hint: 'Check that the host is an address of this machine and that you may open the port.',
    cause: error,
  })
}
