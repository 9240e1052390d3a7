import { makeWorkerUtils, type WorkerUtils } from 'graphile-worker'
import type { Client } from 'pg'
import { inBatches } from '../load/in-batches.ts'
import { sampleBody } from '../sample-webhook.ts'
import { silentLogger } from './silent-logger.ts'
import { batches, connect, type WaitingWork } from './waiting-work.ts'

/** The graphile-worker task that delivers a webhook. */
export const deliverTask = 'deliver'

/** Jobs of graphile-worker, one for each webhook. */
export class WaitingJobs implements WaitingWork {
  readonly #utils: WorkerUtils
  readonly #client: Client

  private constructor(utils: WorkerUtils, client: Client) {
    this.#utils = utils
    this.#client = client
  }

  /** Creates graphile-worker's tables if they don't exist. */
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
    await inBatches({ count, ...batches }, async (from, length) => {
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
