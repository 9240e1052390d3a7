import type { Socket } from 'node:net'
import { buildConnector, errors, Pool, type Dispatcher } from 'undici'
import {
  AnswerHandler,
  lookupBy,
  systemNames,
  type AddressGuard,
  type Answer,
  type AnswerLimits,
  TlsFiles,
  type TlsTexts,
} from '../http/index.ts'
import { AddressRefusedError, systemCode } from '../model/index.ts'
import type { Clock } from '../runtime/index.ts'
import type { Deadline } from './deadline.ts'
import { isShortage } from './outcome.ts'

export { TlsFiles }

/**
 * Upper bound of received bytes per request. A body in chunks of one byte and the longest headers fit. It
 * stops an endless status line, which no other limit covers.
 */
const receivedBytesMax = 1024 * 1024

/** After a minute at most a name is looked up again, so that traffic follows it to another address. */
const connectionAgeMsMax = 60_000
/** Connections of one endpoint differ in age by up to this part, so that they are not all opened at once. */
const ageSpread = 0.25

/**
 * Makes a socket and returns it before it is connected, which undici's own type does not tell; undefined
 * when it may not be made.
 */
type Connect = (
  options: buildConnector.Options,
  callback: buildConnector.Callback,
) => Socket | undefined

/** Whether a connection was opened for a request, or for one before it. */
export type ConnectionKind = 'opened' | 'reused'

/** What connections are made of. */
export interface ConnectionsOptions {
  /** Where they lead to. */
  readonly origin: string
  /** Upper bound of connections. */
  readonly connectionsMax: number
  /** Refuses addresses; undefined allows all. */
  readonly guard: AddressGuard | undefined
  /** The certificates to show and to trust; undefined for none and the usual ones. */
  readonly tls?: TlsFiles | undefined
  /** How much of an answer is of interest. */
  readonly answerLimits: AnswerLimits
  /** Learns the kind of each request's connection once the request has ended. */
  readonly onConnection: ((kind: ConnectionKind) => void) | undefined
  /** Tells how old connections are. */
  readonly clock: Clock
  /** Spreads the ages that they reach. */
  readonly random: () => number
}

/** Makes a request, at the moment at which it can be sent. */
export type MakeRequest = () => Dispatcher.DispatchOptions

/**
 * The connections to one origin, each with one request at a time.
 *
 * One Pool of undici for all would not do: it cannot give up a connection that is being made, opens
 * more than it may after one failed, and closes without those.
 */
export class Connections {
  readonly #options: ConnectionsOptions
  readonly #all: readonly Connection[]
  /** The one that was used last is at the end, and is used next. */
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

  /**
   * Makes a request over the next one that is idle, and resolves with its answer. The deadline ends the
   * wait for a connection, and then the connection.
   */
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

  /** Closes all connections. A request that waits for one gets it, and fails because it is closed. */
  async close(): Promise<void> {
    this.#closed = true
    for (const connection of this.#all) unused.delete(connection)
    await Promise.all(this.#all.map((connection) => connection.end()))
  }

  async #requestOver(connection: Connection, make: MakeRequest): Promise<Answer> {
    const { answerLimits, onConnection } = this.#options
    try {
      const answer = await connection.request(make(), answerLimits)
      // Without this, undici would replace a connection that is cut in the middle of an answer, although no
      // request needs it.
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

  /** Retires the connections to the addresses that the name had before. */
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

  /** Reuses it only after the old socket has closed, so that the endpoint never sees more than connectionsMax. */
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

/** One connection to an origin: made when a request needs it, kept for the next one. */
export class Connection {
  readonly #options: Pick<ConnectionsOptions, 'origin' | 'clock' | 'random'>
  readonly #connect: Connect
  #pool: Pool | undefined
  #socket: Socket | undefined
  #kind: ConnectionKind | undefined
  #closing: Promise<void> | undefined
  /** From when to when it is used, in milliseconds since 1970; undefined unless it is open. */
  #life: { readonly startMs: number; readonly endMs: number } | undefined
  /** Bytes that the socket had received before the current request. */
  #receivedBytesBefore = 0

  constructor(options: Pick<ConnectionsOptions, 'origin' | 'clock' | 'random'>, connect: Connect) {
    this.#options = options
    this.#connect = connect
  }

  /** The connection of the last request, as far as known; undefined if it got none. */
  get kind(): ConnectionKind | undefined {
    return this.#kind
  }

  /** Whether it was opened and not ended here; the other side may have closed it. */
  get isOpen(): boolean {
    return this.#life !== undefined
  }

  /** Whether it is open and must not be used for another request: it is too old, retired, or closing. */
  get isSpent(): boolean {
    if (this.#life === undefined) return this.#closing !== undefined
    const nowMs = this.#options.clock.nowMs()
    return nowMs >= this.#life.endMs || nowMs < this.#life.startMs
  }

  /** No other request goes over it, once the one under way has ended. */
  retire(): void {
    if (this.#life !== undefined) this.#life = { startMs: Infinity, endMs: 0 }
  }

  /** Sends a request, the only one at the time, and resolves with its answer. */
  request(options: Dispatcher.DispatchOptions, limits: AnswerLimits): Promise<Answer> {
    // Unless there is none to reuse: then one is opened before anything is sent.
    this.#kind = 'reused'
    // A pool of one connection, not a bare client: before a pool reuses a connection, it reads unsolicited
    // bytes, so that they are never taken for the next answer.
    const pool = (this.#pool ??= new Pool(this.#options.origin, {
      connections: 1,
      keepAliveMaxTimeout: connectionAgeMsMax,
      // The deadline is exact; the pool's own timers are coarse and would come after it.
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: (target, callback) => this.#open(target, callback),
    }))
    this.#receivedBytesBefore = this.#socket?.bytesRead ?? 0
    return new Promise((answered, failed) => {
      pool.dispatch(options, new AnswerHandler(limits, { answered, failed }))
    })
  }

  /** Resolves once it is closed; undefined unless it is being closed. */
  get closing(): Promise<void> | undefined {
    return this.#closing
  }

  /**
   * Aborts the request under way. Resolves once the connection is closed. The next request opens a new one.
   */
  end(): Promise<void> {
    this.#closing ??= this.#close().finally(() => (this.#closing = undefined))
    return this.#closing
  }

  async #close(): Promise<void> {
    const [pool, socket] = [this.#pool, this.#socket]
    this.#pool = undefined
    this.#socket = undefined
    this.#life = undefined
    // The pool forgets a socket that is not connected yet, but does not end it.
    const destroyed = pool?.destroy()
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

/** Connections of this process that are open and without a request. */
const unused = new Set<Connection>()

/** Closes idle connections. The process has only so many descriptors and ports. */
function closeUnused(): void {
  for (const connection of unused) void connection.end()
  unused.clear()
}

/** Whether the name of an origin leads to no address any more, or to one that is refused. */
function leadsNowhere(error: unknown): boolean {
  return error instanceof AddressRefusedError || systemCode(error) === 'ENOTFOUND'
}

function connector(guard: AddressGuard | undefined, tls: TlsFiles | undefined): Connect {
  const connect = following(tls, guard)
  if (guard === undefined) return connect
  return (target, callback) => {
    // An address is not looked up.
    const refusal = guard.refusalOf(target.hostname)
    if (refusal === undefined) return connect(target, callback)
    // Later, as the answer of every connection that is tried comes.
    queueMicrotask(() => callback(new AddressRefusedError(refusal), null))
    return undefined
  }
}

/** Connects with the certificates of the moment. Connections that are open end by their age. */
function following(tls: TlsFiles | undefined, guard: AddressGuard | undefined): Connect {
  if (tls === undefined) return plainConnector(guard)
  let used = tls.current
  let connect = plainConnector(guard, used)
  return (...parameters) => {
    const { current } = tls
    // A new one, because the last one would resume the sessions of the certificate before.
    if (current !== used) connect = plainConnector(guard, current)
    used = current
    return connect(...parameters)
  }
}

function plainConnector(guard: AddressGuard | undefined, certificates?: TlsTexts): Connect {
  return buildConnector({
    ...certificates,
    // Said outright, so that NODE_TLS_REJECT_UNAUTHORIZED=0 in the environment changes nothing.
    rejectUnauthorized: true,
    // None of its own, which is coarse: the deadline of the request ends a connect too.
    timeout: 0,
    // Never Node's own, and with a guard to the very addresses that were checked for this connection.
    lookup: guard?.lookup ?? lookupBy(systemNames.resolve),
  }) as (...parameters: Parameters<Connect>) => Socket
}
