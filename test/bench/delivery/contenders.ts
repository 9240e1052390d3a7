import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { destinationTo } from '../load/destinations.ts'
import { startLoadProgram, type Measurement } from '../load/load.ts'
import { BenchServer } from '../postgres/bench-server.ts'
import { Program } from '../program.ts'
import { connections, type DeliveryRate, type DeliveryRun } from './contender.ts'
import { RedisServer } from './redis-server.ts'
import type { BullmqSettings } from './bullmq.ts'
import type { GraphileSettings } from './graphile-worker.ts'

/** Somebody who delivers webhooks. */
export interface Contender {
  /** How many webhooks make a run: fewer for who is slow, rates compare. */
  readonly webhooks: number
  /** Delivers so many. */
  readonly deliver: (run: DeliveryRun) => Promise<DeliveryRate & Partial<Measurement>>
}

/** The source that feeds all of evroute's destinations. */
const sourceId = 'shop'

/** What is under way for a benchmark; it ends with it. */
export class Contenders {
  readonly #ends: (() => Promise<void>)[] = []
  readonly #origin: string
  readonly #servers: string[] = []

  /** @param origin - where webhooks go */
  constructor(origin: string) {
    this.#origin = origin
  }

  /** The servers that peers deliver from. */
  get servers(): readonly string[] {
    return this.#servers
  }

  /**
   * The pipeline over a new file for each run.
   *
   * @param count - how many destinations each event goes to; they share the connections
   */
  async evroute(count = 1): Promise<Contender> {
    const program = this.#keep(await startLoadProgram())
    const destinations = Array.from({ length: count }, (_, index) => ({
      ...destinationTo(`crm-${index}`, `${this.#origin}/`, Math.ceil(connections / count)),
      sourceIds: [sourceId],
    }))
    const measuredIds = destinations.map(({ id }) => id)
    return {
      webhooks: 60_000,
      deliver: async ({ webhooks }) => {
        const folder = await mkdtemp(join(tmpdir(), 'evroute-bench-'))
        try {
          const path = join(folder, 'store.db')
          const events = webhooks / count
          return await program.ask({ path, destinations, fedIds: [sourceId], measuredIds, events })
        } finally {
          await rm(folder, { recursive: true })
        }
      },
    }
  }

  /** The barest loop that signs and posts. */
  async limit(): Promise<Contender> {
    const settings = { origin: this.#origin }
    return await this.#program(new URL('bare-loop.ts', import.meta.url), settings, 60_000)
  }

  /**
   * graphile-worker: by default it does one job after the other, with a pool of ten connections and no
   * batches; tuned it is what its page on performance advises, for as many jobs at once.
   */
  async graphileWorker(): Promise<Readonly<Record<string, Contender>>> {
    const server = this.#keep(await BenchServer.start())
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
   * BullMQ: by default it does one job after the other and keeps all of them; tuned it does as many at once
   * as the others, and keeps none. Nobody where there is no Redis.
   */
  async bullmq(): Promise<Readonly<Record<string, Contender>>> {
    const server = await RedisServer.start()
    if (server === undefined) return {}
    this.#keep(server)
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

  /** Ends everything, what came last first. */
  async end(): Promise<void> {
    for (const end of this.#ends.splice(0).toReversed()) await end()
  }

  async #program(url: URL, settings: unknown, webhooks: number): Promise<Contender> {
    const program = this.#keep(await Program.start<DeliveryRun, DeliveryRate>(url, settings))
    return { webhooks, deliver: (run) => program.ask(run) }
  }

  #keep<Thing extends { end: () => Promise<void> }>(thing: Thing): Thing {
    this.#ends.push(() => thing.end())
    return thing
  }
}
