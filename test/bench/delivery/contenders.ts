import { join } from 'node:path'
import { scratchFolder } from '../../support/scratch-folder.ts'
import { destinationTo } from '../load/destinations.ts'
import { startLoadProgram, type Measurement } from '../load/load.ts'
import { BenchServer } from '../postgres/bench-server.ts'
import { Resources } from '../postgres/on-server.ts'
import { connections, type DeliveryRate, type DeliveryRun } from './contender.ts'
import { RedisServer } from './redis-server.ts'
import type { BullmqSettings } from './bullmq.ts'
import type { GraphileSettings } from './graphile-worker.ts'

/** A program that delivers webhooks. */
export interface Contender {
  /** Webhooks per run; slow contenders get fewer, because only rates are compared. */
  readonly webhooks: number
  readonly deliver: (run: DeliveryRun) => Promise<DeliveryRate & Partial<Measurement>>
}

/** The source that feeds all of evroute's destinations. */
const sourceId = 'shop'

/** Starts contenders, and ends them together with their servers. */
export class Contenders {
  readonly #resources = new Resources()
  readonly #origin: string
  readonly #servers: string[] = []

  /** @param origin - where webhooks go */
  constructor(origin: string) {
    this.#origin = origin
  }

  /** Descriptions of the servers that peers use. */
  get servers(): readonly string[] {
    return this.#servers
  }

  /**
   * evroute's pipeline, with a new store file for each run.
   *
   * @param count - how many destinations each event goes to; they share the connections
   */
  async evroute(count = 1): Promise<Contender> {
    const program = this.#resources.keep(await startLoadProgram(), (each) => each.end())
    const destinations = Array.from({ length: count }, (_, index) => ({
      ...destinationTo(`crm-${index}`, `${this.#origin}/`, Math.ceil(connections / count)),
      sourceIds: [sourceId],
    }))
    const measuredIds = destinations.map(({ id }) => id)
    return {
      webhooks: 60_000,
      deliver: async ({ webhooks }) => {
        await using folder = await scratchFolder()
        const path = join(folder.path, 'store.db')
        const events = webhooks / count
        return await program.ask({
          path,
          destinations,
          sourceIds: [sourceId],
          measuredIds,
          events,
        })
      },
    }
  }

  /** A minimal loop that signs and posts. */
  async limit(): Promise<Contender> {
    const settings = { origin: this.#origin }
    return await this.#program(new URL('bare-loop.ts', import.meta.url), settings, 60_000)
  }

  /**
   * graphile-worker, once with its defaults (one job at a time, ten connections, no batches), and once tuned
   * as its performance page advises, with as many jobs at once as evroute.
   */
  async graphileWorker(): Promise<Readonly<Record<string, Contender>>> {
    const server = this.#resources.keep(await BenchServer.start(), (each) => each.end())
    this.#servers.push(await server.description())
    const start = async (
      database: string,
      worker: GraphileSettings['worker'],
      webhooks: number,
    ): Promise<Contender> => {
      const url = await server.newDatabase(database)
      const settings: GraphileSettings = { url, origin: this.#origin, worker }
      return await this.#program(new URL('graphile-worker.ts', import.meta.url), settings, webhooks)
    }
    const tuned = {
      concurrentJobs: connections,
      maxPoolSize: connections + 1,
      localQueue: { size: 500 },
      completeJobBatchDelay: 0,
      failJobBatchDelay: 0,
    }
    return {
      'graphile-worker': await start('by_default', {}, 3_000),
      'graphile-worker (tuned)': await start('tuned', tuned, 20_000),
    }
  }

  /**
   * BullMQ, once with its defaults (one job at a time, all jobs kept), and once tuned to run as many jobs at
   * once as evroute and to keep none. Empty if Redis is not installed.
   */
  async bullmq(): Promise<Readonly<Record<string, Contender>>> {
    const server = await RedisServer.start()
    if (server === undefined) return {}
    this.#resources.keep(server, (each) => each.end())
    this.#servers.push(server.description)
    const start = async (
      worker: BullmqSettings['worker'],
      webhooks: number,
    ): Promise<Contender> => {
      const { socket } = server
      const settings: BullmqSettings = { socket, origin: this.#origin, worker }
      return await this.#program(new URL('bullmq.ts', import.meta.url), settings, webhooks)
    }
    const tuned = { concurrency: connections, removeOnComplete: { count: 0 } }
    return {
      bullmq: await start({}, 3_000),
      'bullmq (tuned)': await start(tuned, 20_000),
    }
  }

  /** Ends everything in reverse order. */
  async end(): Promise<void> {
    await this.#resources.end()
  }

  async #program(url: URL, settings: unknown, webhooks: number): Promise<Contender> {
    const program = await this.#resources.program<DeliveryRun, DeliveryRate>(url, settings)
    return { webhooks, deliver: (run) => program.ask(run) }
  }
}
