import { Client } from 'pg'
import { makeWorkerUtils, type WorkerUtils } from 'graphile-worker'
import { systemClock } from '../../../dist/runtime/index.js'
import { openStore, type Store } from '../../../dist/store/index.js'
import { silentLogger } from './silent-logger.ts'
import { sampleBody } from '../sample-webhook.ts'

/** Deliveries that are written before somebody makes them. */
export interface WaitingWork {
  /** Forgets what was done, where that is asked for, and writes so many more. */
  readonly fill: (count: number) => Promise<void>
  /** Whether the database has it that all of them are made. */
  readonly isDone: () => Promise<boolean>
  /** Lets go of the database. */
  readonly close: () => Promise<void>
}

/** How many are written in one statement. */
const batchSize = 2_500
/** How many of these statements are under way at once. */
const batchesAtOnce = 4

/** The tables of a store whose rows come and go with deliveries. */
const storeTables = ['deliveries', 'messages', 'seen', 'requests', 'counts']

/** Deliveries of a store to one of its destinations. */
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

  /** Opens the store that a URL names. */
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

  /** Writes deliveries to any destination. */
  async add(destinationId: string, count: number): Promise<void> {
    const first = this.#filled
    this.#filled += count
    await inBatches(count, async (from, length) => {
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

/** Which deliveries are written. */
export interface WaitingDeliveriesOptions {
  /** Where they go. */
  readonly destinationId: string
  /** Whether the store is emptied first, as by default. */
  readonly isEmptied?: boolean
}

/** The task that graphile-worker delivers a webhook with. */
export const deliverTask = 'deliver'

/** Jobs of graphile-worker, one for each webhook. */
export class WaitingJobs implements WaitingWork {
  readonly #utils: WorkerUtils
  readonly #client: Client

  private constructor(utils: WorkerUtils, client: Client) {
    this.#utils = utils
    this.#client = client
  }

  /** Makes its tables where there are none. */
  static async open(url: string): Promise<WaitingJobs> {
    const utils = await makeWorkerUtils({ connectionString: url, logger: silentLogger })
    try {
      await utils.migrate()
      return new WaitingJobs(utils, await connect(url))
    } catch (error) {
      await utils.release()
      throw error
    }
  }

  async fill(count: number): Promise<void> {
    await this.#client.query('TRUNCATE graphile_worker._private_jobs')
    await inBatches(count, async (from, length) => {
      const jobs = Array.from({ length }, (_, index) => ({
        identifier: deliverTask,
        payload: { body: sampleBody(`job-${from + index}`) },
      }))
      await this.#utils.addJobs(jobs)
    })
    await this.#client.query('VACUUM (ANALYZE)')
  }

  async isDone(): Promise<boolean> {
    const sql = 'SELECT FROM graphile_worker._private_jobs LIMIT 1'
    const { rows } = await this.#client.query(sql)
    return rows.length === 0
  }

  async close(): Promise<void> {
    await this.#client.end()
    await this.#utils.release()
  }
}

async function connect(url: string): Promise<Client> {
  const client = new Client({ connectionString: url })
  // A connection that is lost shows it with the next statement.
  client.on('error', () => undefined)
  await client.connect()
  return client
}

/** Does something for so many, a few batches at once. */
async function inBatches(
  count: number,
  work: (from: number, length: number) => Promise<void>,
): Promise<void> {
  let next = 0
  const workOn = async (): Promise<void> => {
    while (next < count) {
      const from = next
      next += batchSize
      await work(from, Math.min(batchSize, count - from))
    }
  }
  await Promise.all(Array.from({ length: batchesAtOnce }, workOn))
}
