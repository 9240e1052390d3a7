import { Client, type ClientConfig } from 'pg'
import { systemClock } from '../../runtime/index.ts'

/** How long to wait for a silent server when closing. */
const goodbyeMs = 2_000

/**
 * A connection that always closes. Where `pg` gives up, for example because a password is missing, it
 * leaves the socket open until the server ends it, and the process waits for that.
 *
 * A lost connection fails its next statement. It never causes an unhandled `error` event, not even
 * while a pool hands the connection over: a server that shuts down can say so together with the end of
 * the handshake.
 */
export class ClosingClient extends Client {
  constructor(config?: ClientConfig) {
    super(config)
    this.on('error', () => undefined)
  }

  /** Connects, and resolves with this client. */
  override connect(): Promise<Client>
  /** Connects, and calls back. */
  override connect(callback: (error: Error | null) => void): void
  override connect(callback?: (error: Error | null) => void): Promise<Client> | undefined {
    if (callback === undefined) return super.connect()
    super.connect((error: Error | null) => {
      if (error != null) this.end().catch(() => undefined)
      callback(error)
    })
    return undefined
  }

  /**
   * Ends the session, waits at most 2 s for the server, and resolves once the connection is closed.
   */
  override end(): Promise<void>
  /** Ends the session in the same way, and calls back. */
  override end(callback: () => void): void
  override end(callback?: () => void): Promise<void> | undefined {
    const timer = systemClock.schedule(goodbyeMs, () => this.connection.stream.destroy())
    const ended = super.end().finally(() => timer.cancel())
    if (callback === undefined) return ended
    void ended.then(callback, callback)
    return undefined
  }
}
