import { Client } from 'pg'
import { systemClock } from '../../runtime/index.ts'

/** A server that has fallen silent is not waited for any longer, once nothing is wanted of it. */
const goodbyeMs = 2_000

/**
 * A connection that is closed when it is to be, whatever the server does, and when it comes to nothing:
 * where `pg` itself gives up, for want of a password or for a key that does not fit, the socket would stay
 * open, and the process with it, for as long as the server waits.
 */
export class ClosingClient extends Client {
  /** Connects, and resolves with itself. */
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

  /** Says goodbye, for so long at the most, and resolves once it is closed. */
  override end(): Promise<void>
  /** Says goodbye in the same way, and calls back. */
  override end(callback: () => void): void
  override end(callback?: () => void): Promise<void> | undefined {
    const timer = systemClock.schedule(goodbyeMs, () => this.connection.stream.destroy())
    const ended = super.end().finally(() => timer.cancel())
    if (callback === undefined) return ended
    void ended.then(callback, callback)
    return undefined
  }
}
