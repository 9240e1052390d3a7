import { Client } from 'pg'

/**
 * A connection of a pool that is closed when it comes to nothing: where `pg` itself gives up, for want of
 * a password or for a key that does not fit, the socket would stay open, and the process with it, for as
 * long as the server waits.
 */
export class ClosingClient extends Client {
  override connect(): Promise<Client>
  override connect(callback: (error: Error | null) => void): void
  override connect(callback?: (error: Error | null) => void): Promise<Client> | undefined {
    if (callback === undefined) return super.connect()
    super.connect((error: Error | null) => {
      if (error != null) this.end().catch(() => undefined)
      callback(error)
    })
    return undefined
  }
}
