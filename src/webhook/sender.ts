import type { Socket } from 'node:net'
import { buildConnector, errors, Pool, type Dispatcher } from 'undici'
import { headerValue, readAnswer, type AnswerLimits } from '../http/index.ts'
import { limits, type Destination, type Endpoint } from '../model/index.ts'
import { systemClock } from '../runtime/index.ts'
import { failureOutcome, type RequestOutcome } from './outcome.ts'
import { signBody } from './signature.ts'

/** How much of an answer is read at the most, and how much of it is kept for the delivery log. */
const answerLimits: AnswerLimits = { readBytesMax: 64 * 1024, keptBytesMax: 4 * 1024 }

/**
 * How much may arrive for one request, whatever it is: a body in chunks of a byte and the longest
 * headers fit. Ends what is no part of a body and goes on for ever, such as a status line.
 */
const receivedBytesMax = 1024 * 1024

/** What a sender is made of. */
export interface SenderOptions {
  /** Where to send, with which headers and secret. */
  readonly destination: Destination
  /** Time for connect, headers and body together; 5 s by default and at the most. */
  readonly deadlineMs?: number
}

/** Sends webhooks to the endpoints of one destination over connections of its own. */
export class WebhookSender {
  readonly #destination: Destination
  readonly #deadlineMs: number
  readonly #connections = new Map<string, Connections>()
  #closed = false

  constructor({ destination, deadlineMs = limits.endpointDeadlineMs }: SenderOptions) {
    this.#destination = destination
    this.#deadlineMs = Math.min(deadlineMs, limits.endpointDeadlineMs)
  }

  /**
   * Signs the body and posts it once. Redirects are not followed. Never throws: whatever happens is
   * an outcome, which is `interrupted` after {@link close}.
   *
   * The deadline runs in real time, whatever the clock of the runtime does: it measures the endpoint.
   */
  async post(endpoint: Endpoint, body: string): Promise<RequestOutcome> {
    if (this.#closed) return { kind: 'interrupted' }
    const deadline = new AbortController()
    const timer = systemClock.schedule(this.#deadlineMs, () => deadline.abort())
    try {
      return await this.#exchange(endpoint, body, deadline.signal)
    } catch (error) {
      return this.#unanswered(error, deadline.signal)
    } finally {
      timer.cancel()
    }
  }

  /** Ends all connections at once, requests under way included. Idempotent. */
  async close(): Promise<void> {
    this.#closed = true
    await Promise.all([...this.#connections.values()].map((connections) => connections.close()))
  }

  #unanswered(error: unknown, deadline: AbortSignal): RequestOutcome {
    if (this.#closed) return { kind: 'interrupted' }
    return deadline.aborted ? { kind: 'timeout' } : failureOutcome(error)
  }

  #exchange(endpoint: Endpoint, body: string, deadline: AbortSignal): Promise<RequestOutcome> {
    const url = new URL(endpoint.url)
    return this.#connectionsTo(url.origin).use(deadline, async (connection) => {
      const response = await connection.request({
        method: 'POST',
        path: url.pathname + url.search,
        headers: this.#headers(endpoint, body),
        body,
      })
      const { text, isWhole } = await readAnswer(response.body, answerLimits)
      // Left alone, a connection that is cut off amid an answer would be made anew for nobody.
      if (!isWhole) await connection.end()
      return {
        kind: 'answered',
        status: response.statusCode,
        retryAfter: headerValue(response.headers['retry-after']),
        excerpt: text,
      }
    })
  }

  #headers(endpoint: Endpoint, body: string): Record<string, string> {
    const secret = this.#destination.sharedSecret
    return {
      ...endpoint.headers,
      'User-Agent': 'evroute/1.0',
      'Content-Type': 'application/json',
      ...(secret === undefined ? {} : { 'X-Signature': signBody(body, secret) }),
    }
  }

  /** With a connection for every request that the destination's endpoints may have in flight there. */
  #connectionsTo(origin: string): Connections {
    let connections = this.#connections.get(origin)
    if (connections === undefined) {
      const endpoints = this.#destination.endpoints.filter(
        ({ url }) => new URL(url).origin === origin,
      )
      connections = new Connections(origin, endpoints.length * this.#destination.concurrency)
      this.#connections.set(origin, connections)
    }
    return connections
  }
}

/** Makes a socket and returns it before it is connected, which undici's own type does not tell. */
type Connect = (options: buildConnector.Options, callback: buildConnector.Callback) => unknown

/**
 * The connections to one origin, each with one request at a time.
 *
 * One Pool of undici for all would not do: it cannot give up a connection that is being made, opens
 * more than it may after one failed, and closes without those.
 */
class Connections {
  readonly #all: readonly Connection[]
  /** The one that was used last is at the end, and is used next. */
  readonly #idle: Connection[]
  readonly #waiters = new Set<(connection: Connection) => void>()
  #closed = false

  constructor(origin: string, connectionsMax: number) {
    // Said outright, so that NODE_TLS_REJECT_UNAUTHORIZED=0 in the environment changes nothing.
    // Without a timeout of its own, which is coarse: the deadline of the request ends a connect too.
    const connect = buildConnector({ rejectUnauthorized: true, timeout: 0 })
    this.#all = Array.from({ length: connectionsMax }, () => new Connection(origin, connect))
    this.#idle = [...this.#all]
  }

  /** Lends a connection to a task; the deadline ends the wait for it, and then the connection. */
  async use<Result>(
    deadline: AbortSignal,
    task: (connection: Connection) => Promise<Result>,
  ): Promise<Result> {
    const connection = this.#idle.pop() ?? (await this.#nextIdle(deadline))
    let free = Promise.resolve()
    const end = (): void => {
      free = connection.end()
    }
    deadline.addEventListener('abort', end)
    try {
      if (this.#closed) throw new errors.ClientClosedError()
      return await task(connection)
    } finally {
      deadline.removeEventListener('abort', end)
      // Lent again only once it is closed: the other side never sees more than there may be.
      void free.then(() => this.#release(connection))
    }
  }

  /** Ends them all. Who waits for one gets it, and the error that it is closed. */
  async close(): Promise<void> {
    this.#closed = true
    await Promise.all(this.#all.map((connection) => connection.end()))
  }

  #nextIdle(deadline: AbortSignal): Promise<Connection> {
    return new Promise((resolve, reject) => {
      this.#waiters.add(resolve)
      deadline.addEventListener('abort', () => {
        this.#waiters.delete(resolve)
        reject(new errors.RequestAbortedError())
      })
    })
  }

  #release(connection: Connection): void {
    const [lend] = this.#waiters
    if (lend === undefined) {
      this.#idle.push(connection)
      return
    }
    this.#waiters.delete(lend)
    lend(connection)
  }
}

/** One connection to an origin: made when a request needs it, kept for the next one. */
class Connection {
  readonly #origin: string
  readonly #connect: Connect
  #pool: Pool | undefined
  #socket: Socket | undefined
  /** What the socket had received before the request that is under way. */
  #receivedBytesBefore = 0

  constructor(origin: string, connect: Connect) {
    this.#origin = origin
    this.#connect = connect
  }

  /** Sends a request, the only one at the time, and resolves with the head of its answer. */
  request(options: Dispatcher.RequestOptions): Promise<Dispatcher.ResponseData> {
    // A pool of one, where a bare client would do: before it uses a connection again it lets bytes
    // arrive that nobody asked for, so that they are not taken for the answer.
    this.#pool ??= new Pool(this.#origin, {
      connections: 1,
      // The deadline is exact; the pool's own timers are coarse and would come after it.
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: (target, callback) => this.#open(target, callback),
    })
    this.#receivedBytesBefore = this.#socket?.bytesRead ?? 0
    return this.#pool.request(options)
  }

  /** Gives up whatever is under way; resolves once it is closed. The next request starts afresh. */
  async end(): Promise<void> {
    const [pool, socket] = [this.#pool, this.#socket]
    this.#pool = undefined
    this.#socket = undefined
    // The pool forgets a socket that is not connected yet, but does not end it.
    const destroyed = pool?.destroy()
    socket?.destroy()
    await destroyed
    if (socket?.closed === false) await new Promise((resolve) => socket.once('close', resolve))
  }

  #open(target: buildConnector.Options, callback: buildConnector.Callback): void {
    const socket = this.#connect(target, (...result) => {
      const [, connected] = result
      connected?.on('readable', () => this.#limit(connected))
      callback(...result)
    }) as Socket
    this.#socket = socket
    this.#receivedBytesBefore = 0
  }

  #limit(socket: Socket): void {
    if (socket.bytesRead - this.#receivedBytesBefore > receivedBytesMax) {
      socket.destroy(new errors.ResponseExceededMaxSizeError())
    }
  }
}
