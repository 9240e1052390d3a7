import { setTimeout as sleep } from 'node:timers/promises'
import { systemClock } from '../../../dist/runtime/index.js'
import { destinationTo } from '../load/destinations.ts'
import type { Sink } from '../sink/sink.ts'
import type { BenchServer } from './bench-server.ts'
import type { Deliverer } from './commands.ts'
import type { Resources } from './on-server.ts'
import { WaitingDeliveries, type WaitingWork } from './waiting-work.ts'

/** What every run needs. */
export interface Setup {
  /** The server with the database. */
  readonly server: BenchServer
  /** Where webhooks go. */
  readonly sink: Sink
}

/** Waiting work, and the processes that do it. */
export interface Contender {
  readonly work: WaitingWork
  /** The processes that do it together. */
  readonly deliverers: readonly Deliverer[]
  /** Webhooks per run. */
  readonly webhooks: number
}

/** Requests in flight, in all processes of a contender together. */
export const concurrency = 64

/** The time after which a run has failed. */
const runMsMax = 90_000
const pollEveryMs = 2

/** Starts processes that deliver the work of one database together, to one destination. */
export async function startContender(
  { sink }: Setup,
  { url, processes, webhooks }: ContenderSettings,
  resources: Resources,
): Promise<Contender> {
  const destinationId = 'crm'
  const opened = await WaitingDeliveries.open(url, { destinationId })
  const work = resources.keep(opened, (each) => each.close())
  const destinations = [destinationTo(destinationId, `${sink.origin}/`, concurrency)]
  return { work, deliverers: await resources.evroute({ url, destinations, processes }), webhooks }
}

interface ContenderSettings {
  /** The URL of the database. */
  readonly url: string
  readonly processes: number
  /** Webhooks per run. */
  readonly webhooks: number
}

/**
 * Writes the work of a run, then has it done.
 *
 * @returns webhooks per second, from the arrival of the first until all have arrived and are recorded as
 * delivered
 */
export async function measureRun(setup: Setup, contender: Contender): Promise<number> {
  const { work, deliverers, webhooks } = contender
  await work.fill(webhooks)
  await setup.server.settle()
  const limit = new AbortController()
  try {
    const late = sleep(runMsMax, undefined, { signal: limit.signal }).then(() => {
      throw new Error(`The ${webhooks} webhooks were not delivered within ${runMsMax} ms`)
    })
    late.catch(() => undefined)
    return await Promise.race([deliverAll(setup, { work, deliverers, webhooks }, limit), late])
  } finally {
    limit.abort()
  }
}

async function deliverAll(
  { sink }: Setup,
  { work, deliverers, webhooks }: Contender,
  limit: AbortController,
): Promise<number> {
  const arrivals = sink.arrivalOf(webhooks)
  await Promise.all(deliverers.map((deliverer) => deliverer.ask('start')))
  const firstAtMs = await arrivals
  while (!(await work.isDone())) {
    await sleep(pollEveryMs, undefined, { signal: limit.signal })
  }
  const seconds = (systemClock.nowMs() - firstAtMs) / 1_000
  await Promise.all(deliverers.map((deliverer) => deliverer.ask('stop')))
  return webhooks / seconds
}
