import type { Socket } from 'node:net'
import type { buildConnector, Dispatcher } from 'undici'
import { AnswerHandler, type Answer, type AnswerLimits, TlsFiles } from '../http/index.ts'
import { AddressRefusedError, systemCode } from '../model/index.ts'
import { connector, proxyTimeout, type Connect } from './connector.ts'
import type { Deadline } from './deadline.ts'
import { isShortage } from './outcome.ts'
import type { SenderOptions } from './sender.ts'
import { errors, Pool } from './undici.ts'

export { TlsFiles }

/** Maximum bytes to receive per request. Allows long headers and tiny chunks, but stops an endless status line. */
const receivedBytesMax = 1024 * 1024

/** Maximum age of a connection. A new connection resolves the host name again, and so finds a changed address. */
const connectionAgeMsMax = 60_000
/** Each age is shortened by a random share up to this, so that connections are not all replaced together. */
const ageSpread = 0.25

/** Whether a connection was opened for this request or for an earlier one. */
export type ConnectionKind = 'opened' | 'reused'

/** How to connect to one origin. */
export interface ConnectionsOptions extends Required<
  Pick<SenderOptions, 'guard' | 'onConnection' | 'clock' | 'random'>
> {
  readonly origin: string
  readonly connectionsMax: number
  /** Client certificate and trusted CAs; undefined for no certificate and the default CAs. */
  readonly tls?: TlsFiles | undefined
  readonly answerLimits: AnswerLimits
}

/** Makes a request. Called when a connection is ready to send it. */
export type MakeRequest = () => Dispatcher.DispatchOptions

/**
 * The connections to one origin. Each carries one request at a time. A single undici Pool can't replace this class: the
 * pool can't abort a connection attempt, even on closing, and exceeds its connection limit after a failed attempt.
 */
export class Connections {
  readonly #options: ConnectionsOptions
  readonly #all: readonly Connection[]
  /** A stack, so that the most recently used connection is used next. */
  readonly #idle: Connection[]
  readonly #waiters = new Set<(connection: Connection) => void>()
  #closed = false

  constructor(options: ConnectionsOptions) {
    const { connectionsMax, guard, tls } = options
    const connect = connector(guard, tls)
    this.#options = options
    this.#all = Array.from({ length: connectionsMax }, () => new Connection(options, connect))
    this.#idle = [...this.#all]
  }

  /** Sends a request over the next idle connection. The deadline ends the wait, or closes the connection in use. */
  async request(make: MakeRequest, deadline: Deadline): Promise<Answer> {
    const connection = this.#idle.pop() ?? (await this.#nextIdle(deadline))
    unused.delete(connection)
    deadline.whenOver(() => void connection.end())
    try {
      if (connection.isSpent) await connection.end()
      if (this.#closed) throw new errors.ClientClosedError()
      return await this.#requestOver(connection, make)
    } finally {
      deadline.whenOver(undefined)
      this.#release(connection)
    }
  }

  /** Closes all connections. Requests that are waiting for a connection fail. */
  async close(): Promise<void> {
    this.#closed = true
    for (const connection of this.#all) unused.delete(connection)
    await Promise.all(this.#all.map((connection) => connection.end()))
  }

  async #requestOver(connection: Connection, make: MakeRequest): Promise<Answer> {
    const { answerLimits, onConnection } = this.#options
    try {
      const answer = await connection.request(make(), answerLimits)
      // End the connection after a cut-off answer: otherwise, undici would open a new one that no request needs.
      if (!answer.isWhole) await connection.end()
      return answer
    } catch (error) {
      if (leadsNowhere(error)) this.#retire()
      if (isShortage(error)) closeUnused()
      throw error
    } finally {
      const { kind } = connection
      if (kind !== undefined) onConnection?.(kind)
    }
  }

  /** Retires all connections: they lead to addresses that the host name used to have. */
  #retire(): void {
    for (const connection of this.#all) connection.retire()
    for (const connection of this.#idle) if (connection.isSpent) void connection.end()
  }

  #nextIdle(deadline: Deadline): Promise<Connection> {
    return new Promise((resolve, reject) => {
      this.#waiters.add(resolve)
      deadline.whenOver(() => {
        this.#waiters.delete(resolve)
        reject(new errors.RequestAbortedError())
      })
    })
  }

  /** Waits until a closing socket has closed, so that the endpoint never sees more than `connectionsMax`. */
  #release(connection: Connection): void {
    if (connection.closing === undefined) this.#lend(connection)
    else void connection.closing.then(() => this.#lend(connection))
  }

  #lend(connection: Connection): void {
    const [lend] = this.#waiters
    if (lend === undefined) {
      this.#idle.push(connection)
      if (connection.isOpen) unused.add(connection)
      return
    }
    this.#waiters.delete(lend)
    lend(connection)
  }
}

/** One connection to an origin. It is opened when a request needs it, and kept open for later requests. */
export class Connection {
  readonly #options: Pick<ConnectionsOptions, 'origin' | 'clock' | 'random'>
  readonly #connect: Connect
  #pool: Pool | undefined
  #socket: Socket | undefined
  #kind: ConnectionKind | undefined
  #closing: Promise<void> | undefined
  /** When the connection accepts requests, in milliseconds since 1970; undefined unless it is open. */
  #life: { readonly startMs: number; readonly endMs: number } | undefined
  /** Bytes that the socket had received before the current request. */
  #receivedBytesBefore = 0

  constructor(options: Pick<ConnectionsOptions, 'origin' | 'clock' | 'random'>, connect: Connect) {
    this.#options = options
    this.#connect = connect
  }

  /** Whether the last request opened or reused the connection; undefined if it could not connect. */
  get kind(): ConnectionKind | undefined {
    return this.#kind
  }

  /** Whether the connection is open on this side. The endpoint may already have closed it. */
  get isOpen(): boolean {
    return this.#life !== undefined
  }

  /** Whether the connection must not take any more requests: it is too old, retired or closing. */
  get isSpent(): boolean {
    if (this.#life === undefined) return this.#closing !== undefined
    const nowMs = this.#options.clock.nowMs()
    return nowMs >= this.#life.endMs || nowMs < this.#life.startMs
  }

  /** Makes the connection accept no more requests after the current one. */
  retire(): void {
    if (this.#life !== undefined) this.#life = { startMs: Infinity, endMs: 0 }
  }

  /** Sends a request. Only one may be in progress. */
  request(options: Dispatcher.DispatchOptions, limits: AnswerLimits): Promise<Answer> {
    // #open corrects this if there is no connection to reuse.
    this.#kind = 'reused'
    // Before a pool reuses a connection, it reads unsolicited bytes. A bare client could take them for the next answer.
    const pool = (this.#pool ??= new Pool(this.#options.origin, {
      connections: 1,
      keepAliveMaxTimeout: connectionAgeMsMax,
      // The pool's own timers are coarse and would fire after the deadline.
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: (target, callback) => this.#open(target, callback),
    }))
    this.#receivedBytesBefore = this.#socket?.bytesRead ?? 0
    return new Promise((answered, failed) => {
      pool.dispatch(options, new AnswerHandler(limits, { answered, failed }))
    })
  }

  /** Resolves once the connection is closed; undefined unless it is closing. */
  get closing(): Promise<void> | undefined {
    return this.#closing
  }

  /** Aborts the current request and closes the connection. The next request opens a new one. */
  end(): Promise<void> {
    this.#closing ??= this.#close().finally(() => (this.#closing = undefined))
    return this.#closing
  }

  async #close(): Promise<void> {
    const [pool, socket] = [this.#pool, this.#socket]
    this.#pool = undefined
    this.#socket = undefined
    this.#life = undefined
    // The pool doesn't close a socket that is still connecting, so destroy the socket too.
    const destroyed = pool?.destroy(proxyTimeout(socket) ?? null)
    socket?.destroy()
    await destroyed
    if (socket?.closed === false) await new Promise((resolve) => socket.once('close', resolve))
  }

  #open(target: buildConnector.Options, callback: buildConnector.Callback): void {
    this.#kind = undefined
    const socket = this.#connect(target, (...result) => {
      const [error, connected] = result
      if (error === null) this.#welcome(connected)
      callback(...result)
    })
    this.#socket = socket
    this.#receivedBytesBefore = 0
  }

  #welcome(socket: Socket): void {
    const { clock, random } = this.#options
    // Through a proxy, this is a second socket: TLS inside the tunnel.
    this.#socket = socket
    const startMs = clock.nowMs()
    this.#life = { startMs, endMs: startMs + connectionAgeMsMax * (1 - ageSpread * random()) }
    this.#kind = 'opened'
    socket.on('readable', () => this.#limit(socket))
  }

  #limit(socket: Socket): void {
    if (socket.bytesRead - this.#receivedBytesBefore > receivedBytesMax) {
      socket.destroy(new errors.ResponseExceededMaxSizeError())
    }
  }
}

/** The open connections of this process that are idle, to all origins. */
const unused = new Set<Connection>()

/** Closes the idle connections of all destinations, to free file descriptors and local ports. */
function closeUnused(): void {
  for (const connection of unused) void connection.end()
  unused.clear()
}

/** Whether an error says that a host name no longer has an address, or has a forbidden one. */
function leadsNowhere(error: unknown): boolean {
  return error instanceof AddressRefusedError || systemCode(error) === 'ENOTFOUND'
}
