import { Client } from 'pg'
import { systemClock } from '../../../dist/runtime/index.js'
import { openStore, type Store } from '../../../dist/store/index.js'
import { inBatches } from '../load/in-batches.ts'
import { sampleBody } from '../sample-webhook.ts'

/** Deliveries that are stored before a deliverer starts. */
export interface WaitingWork {
  /** Deletes the previous deliveries, unless told not to, and writes this many new ones. */
  readonly fill: (count: number) => Promise<void>
  /** Whether all are recorded as delivered. */
  readonly isDone: () => Promise<boolean>
  readonly close: () => Promise<void>
}

/** How deliveries are written: the size of a statement, and the statements in flight. */
export const batches = { batchSize: 2_500, batchesAtOnce: 4 }

/** The store's tables that hold deliveries. */
const storeTables = ['deliveries', 'messages', 'seen', 'requests', 'counts']

/** Deliveries in a store to one of its destinations. */
export class WaitingDeliveries implements WaitingWork {
  readonly #store: Store
  readonly #client: Client
  readonly #destinationId: string
  readonly #isEmptied: boolean
  #filled = 0

  private constructor(parts: { store: Store; client: Client } & WaitingDeliveriesOptions) {
    this.#store = parts.store
    this.#client = parts.client
    this.#destinationId = parts.destinationId
    this.#isEmptied = parts.isEmptied ?? true
  }

  /** Opens the store at a URL. */
  static async open(url: string, options: WaitingDeliveriesOptions): Promise<WaitingDeliveries> {
    const store = await openStore(url)
    try {
      return new WaitingDeliveries({ store, client: await connect(url), ...options })
    } catch (error) {
      await store.close()
      throw error
    }
  }

  async fill(count: number): Promise<void> {
    if (this.#isEmptied) {
      const tables = storeTables.map((name) => `evroute_${name}`)
      await this.#client.query(`TRUNCATE ${tables.join(', ')}`)
    }
    await this.add(this.#destinationId, count)
    await this.#client.query('VACUUM (ANALYZE)')
  }

  /** Writes deliveries to the given destination. */
  async add(destinationId: string, count: number): Promise<void> {
    const first = this.#filled
    this.#filled += count
    await inBatches({ count, ...batches }, async (from, length) => {
      const events = Array.from({ length }, (_, index) => {
        const messageId = `${destinationId}-${first + from + index}`
        const deliveries = [{ destinationId, body: sampleBody(messageId) }]
        const about = { sourceId: destinationId, messageId, type: 'track' as const }
        return { ...about, userId: 'user-1', deliveries }
      })
      const nowMs = systemClock.nowMs()
      await this.#store.add({ nowMs, seenSinceMs: 0, events, handOver: [] })
    })
  }

  async isDone(): Promise<boolean> {
    const { pending } = await this.#store.ledger({ destinationId: this.#destinationId })
    return pending === 0
  }

  async close(): Promise<void> {
    await this.#client.end()
    await this.#store.close()
  }
}

export interface WaitingDeliveriesOptions {
  /** The destination of the deliveries that `fill` writes. */
  readonly destinationId: string
  /** Whether `fill` empties the store first; default true. */
  readonly isEmptied?: boolean
}

export async function connect(url: string): Promise<Client> {
  const client = new Client({ connectionString: url })
  // A lost connection makes the next statement fail.
  client.on('error', () => undefined)
  await client.connect()
  return client
}
