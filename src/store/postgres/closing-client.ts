import { Client, type ClientConfig } from 'pg'
import { systemClock } from '../../runtime/index.ts'

/** How long to wait for the server while closing, in milliseconds. */
const goodbyeMs = 2_000

/**
 * A connection that always closes. When `pg` itself gives up connecting, for example without a password, it
 * leaves the socket open until the server closes it, and keeps the process from exiting.
 *
 * The `error` event always has a listener: the server can announce its shutdown before the pool adds a listener.
 * After a connection is lost, its next statement fails.
 */
export class ClosingClient extends Client {
  /** Why no connection can be made: a file in the URL cannot be read, for example while it is being replaced. */
  declare readonly failure: Error | undefined

  constructor(config?: ClientConfig) {
    let failure: Error | undefined
    try {
      super(config)
    } catch (error) {
      // Only `connect` may fail: the pool also makes clients where nothing catches an error.
      super()
      failure = error as Error
    }
    this.failure = failure
    this.on('error', () => undefined)
  }

  /** Connects, and resolves with this client. */
  override connect(): Promise<Client>
  override connect(callback: (error: Error | null) => void): void
  override connect(callback?: (error: Error | null) => void): Promise<Client> | undefined {
    const { failure } = this
    if (callback === undefined) return failure ? Promise.reject(failure) : super.connect()
    if (failure) process.nextTick(callback, failure)
    else
      super.connect((error: Error | null) => {
        if (error != null) this.end().catch(() => undefined)
        callback(error)
      })
    return undefined
  }

  /** Ends the session, waits at most 2 s for the server, and resolves once the connection is closed. */
  override end(): Promise<void>
  /** Ends the session, waits at most 2 s for the server, and calls back once the connection is closed. */
  override end(callback: () => void): void
  override end(callback?: () => void): Promise<void> | undefined {
    const timer = systemClock.schedule(goodbyeMs, () => this.connection.stream.destroy())
    const ended = super.end().finally(() => timer.cancel())
    if (callback === undefined) return ended
    void ended.then(callback, callback)
    return undefined
  }
}
