import type { LeasedDelivery } from '../../../dist/delivery/index.js'
import { stopwatch, systemClock } from '../../../dist/runtime/index.js'
import { openStore, type Store } from '../../../dist/store/index.js'
import type { BenchReport } from '../report.ts'
import { median } from '../table.ts'
import { onServer } from './on-server.ts'
import { WaitingDeliveries } from './waiting-work.ts'

/** Deliveries per run, by batch size. */
const counts: ReadonlyMap<number, number> = new Map([
  [1, 1_000],
  [10, 5_000],
  [100, 20_000],
  [500, 20_000],
])
const warmUpBatch = 100
const rounds = 5
const destinationId = 'crm'

/** Deliveries per second. */
interface Rates {
  readonly claimed: number[]
  readonly settled: number[]
}

/** Measures how fast a store claims and settles deliveries, batch by batch. Nothing is sent. */
export async function benchQueue(): Promise<BenchReport> {
  return await onServer(async ({ server }, resources) => {
    const url = await server.newDatabase('queue')
    const opened = await WaitingDeliveries.open(url, { destinationId })
    const work = resources.keep(opened, (each) => each.close())
    const store = resources.keep(await openStore(url), (each) => each.close())
    const measure = async (batch: number): Promise<{ claimed: number; settled: number }> => {
      const count = counts.get(batch) ?? 0
      await work.fill(count)
      await server.settle()
      return await measureOnce(store, batch, count)
    }
    await measure(warmUpBatch)
    const results = new Map<number, Rates>()
    for (const batch of counts.keys()) results.set(batch, { claimed: [], settled: [] })
    for (let round = 0; round < rounds; round++) {
      for (const [batch, rates] of results) {
        const { claimed, settled } = await measure(batch)
        rates.claimed.push(claimed)
        rates.settled.push(settled)
      }
    }
    return report(results)
  })
}

async function measureOnce(
  store: Store,
  batch: number,
  count: number,
): Promise<{ claimed: number; settled: number }> {
  let claimMs = 0
  let settleMs = 0
  for (let done = 0; done < count; done += batch) {
    const claimedMs = stopwatch()
    const leased = await claim(store, batch)
    claimMs += claimedMs()
    if (leased.length !== batch)
      throw new Error(`${leased.length} were claimed instead of ${batch}`)
    const settledMs = stopwatch()
    await settle(store, leased)
    settleMs += settledMs()
  }
  return { claimed: (count * 1_000) / claimMs, settled: (count * 1_000) / settleMs }
}

function claim(store: Store, deliveriesMax: number): Promise<readonly LeasedDelivery[]> {
  const nowMs = systemClock.nowMs()
  const share = { destinationId, lane: 'first' as const, dueByMs: nowMs, deliveriesMax }
  return store.claim({ nowMs, shares: [share] })
}

async function settle(store: Store, leased: readonly LeasedDelivery[]): Promise<void> {
  const nowMs = systemClock.nowMs()
  const url = 'http://127.0.0.1:9/'
  const firstTry = { url, atMs: nowMs, durationMs: 1.5, status: 200, excerpt: 'ok' }
  await store.settle({
    nowMs,
    settlements: leased.map((delivery) => {
      return { kind: 'delivered', delivery, attempts: 1, firstTry }
    }),
    requests: [],
  })
}

function report(results: ReadonlyMap<number, Rates>): BenchReport {
  return {
    bench: 'postgres-queue',
    measured: `deliveries claimed and settled batch by batch, with the log of their requests, nothing sent, ${rounds} rounds`,
    cases: [...results].map(([batch, { claimed, settled }]) => ({
      name: `${batch} at once`,
      rate: median(settled),
      unit: 'settled/s',
      beside: {},
      figures: { claimedPerSecond: Math.round(median(claimed)) },
    })),
    mustReach: 'nothing; the rate of the store is an upper bound for deliveries',
    packages: ['pg'],
  }
}
