import { setTimeout as sleep } from 'node:timers/promises'
import { systemClock } from '../../../dist/runtime/index.js'
import type { Sink } from '../sink/sink.ts'
import type { BenchServer } from './bench-server.ts'
import type { Deliverer } from './commands.ts'
import type { WaitingWork } from './waiting-work.ts'

/** What a run needs whoever delivers. */
export interface Place {
  /** Where the database is. */
  readonly server: BenchServer
  /** Where webhooks go. */
  readonly sink: Sink
}

/** Who delivers what. */
export interface Contender {
  /** What waits for it. */
  readonly work: WaitingWork
  /** The processes that do it together. */
  readonly deliverers: readonly Deliverer[]
  /** How many webhooks make a run. */
  readonly webhooks: number
}

/** A run that takes longer has failed. */
const runMsMax = 90_000
const lookEveryMs = 2

/**
 * Writes the work of a run, then has it done.
 *
 * @returns webhooks per second, from the arrival of the first to the moment when all of them have come
 * and the database has every one as delivered
 */
export async function measureRun(place: Place, contender: Contender): Promise<number> {
  const { work, deliverers, webhooks } = contender
  await work.fill(webhooks)
  await place.server.settle()
  const limit = new AbortController()
  try {
    const late = sleep(runMsMax, undefined, { signal: limit.signal }).then(() => {
      throw new Error(`${webhooks} webhooks are not delivered after ${runMsMax} ms`)
    })
    late.catch(() => undefined)
    return await Promise.race([deliverAll(place, { work, deliverers, webhooks }, limit), late])
  } finally {
    limit.abort()
  }
}

async function deliverAll(
  { sink }: Place,
  { work, deliverers, webhooks }: Contender,
  limit: AbortController,
): Promise<number> {
  const arrivals = sink.arrivalOf(webhooks)
  await Promise.all(deliverers.map((deliverer) => deliverer.ask('start')))
  const firstAtMs = await arrivals
  while (!(await work.isDone())) {
    await sleep(lookEveryMs, undefined, { signal: limit.signal })
  }
  const seconds = (systemClock.nowMs() - firstAtMs) / 1_000
  await Promise.all(deliverers.map((deliverer) => deliverer.ask('stop')))
  return webhooks / seconds
}
