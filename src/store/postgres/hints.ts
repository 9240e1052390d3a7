import { systemClock, type Timer } from '../../runtime/index.ts'
import { ClosingClient } from './closing-client.ts'
import { sessionUrl } from './connection-url.ts'
import { keepAlive, type Database } from './database.ts'

const channel = 'evroute_deliveries'

/** A connection that is lost is made anew after so long, then after twice as long, up to the greatest. */
const reconnectMs = { first: 500, greatest: 30_000 }

/** Connecting, or beginning to listen, takes so long at the most. */
const answerTimeoutMs = 10_000

/** Who tells, and who is told. */
export interface HintsOptions {
  /** The URL of the database. */
  readonly url: string
  /** The number of this process: what it tells is no news to itself. */
  readonly holder: number
  /** Is told that others may have changed what can be claimed. */
  readonly onHint: (() => void) | undefined
}

/**
 * Tells the other processes on a database that there is something to claim, and hears of it. Only
 * hints: one that is lost is made up for by whoever looks from time to time.
 *
 * A hint is a transaction of its own, after the one that it tells of: those that notify commit one
 * after the other, and none should do so with the disk to wait for.
 */
export class Hints {
  readonly #database: Database
  readonly #options: HintsOptions
  #client: ClosingClient | undefined
  #timer: Timer | undefined
  #delayMs = reconnectMs.first
  #telling = false
  #tellAgain = false
  #closed = false

  constructor(database: Database, options: HintsOptions) {
    this.#database = database
    this.#options = options
    if (options.onHint !== undefined) void this.#listen()
  }

  /** Tells the others; what is to be told meanwhile is told once, afterwards. */
  announce(): void {
    if (this.#telling) this.#tellAgain = true
    else void this.#tell()
  }

  /** Hears nothing more. */
  async close(): Promise<void> {
    this.#closed = true
    this.#timer?.cancel()
    await this.#client?.end()
  }

  async #tell(): Promise<void> {
    this.#telling = true
    const values = [channel, String(this.#options.holder)]
    await this.#database.rows({ sql: 'SELECT pg_notify($1, $2)', values }).catch(() => undefined)
    this.#telling = false
    if (!this.#tellAgain) return
    this.#tellAgain = false
    void this.#tell()
  }

  async #listen(): Promise<void> {
    const client = this.#newClient()
    this.#client = client
    if (client === undefined) {
      this.#listenLater(client)
      return
    }
    client.on('notification', ({ payload }) => this.#hear(payload))
    client.on('error', () => undefined)
    client.once('end', () => this.#listenLater(client))
    try {
      await client.connect()
      await client.query(`LISTEN ${channel}`)
      this.#delayMs = reconnectMs.first
      // Whatever was told before is not told again.
      this.#options.onHint?.()
    } catch {
      await client.end().catch(() => undefined)
      this.#listenLater(client)
    }
  }

  #hear(holder: string | undefined): void {
    if (!this.#closed && holder !== String(this.#options.holder)) this.#options.onHint?.()
  }

  /** None where a file that the URL names cannot be read, as while certificates are replaced. */
  #newClient(): ClosingClient | undefined {
    try {
      return new ClosingClient({
        connectionString: sessionUrl(this.#options.url, { isReadOnly: false }),
        fallback_application_name: 'evroute',
        connectionTimeoutMillis: answerTimeoutMs,
        query_timeout: answerTimeoutMs,
        ...keepAlive,
      })
    } catch {
      return undefined
    }
  }

  #listenLater(client: ClosingClient | undefined): void {
    if (this.#closed || this.#client !== client) return
    this.#client = undefined
    this.#timer = systemClock.schedule(this.#delayMs, () => void this.#listen())
    this.#delayMs = Math.min(this.#delayMs * 2, reconnectMs.greatest)
  }
}
