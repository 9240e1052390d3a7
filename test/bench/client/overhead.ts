import { Pool } from 'undici'
import { stopwatch } from '../../../dist/runtime/index.js'
import { inTurn } from '../in-turn.ts'
import { Program } from '../program.ts'
import { ratiosOf, type BenchReport } from '../report.ts'
import { median } from '../table.ts'
import type { OverheadServerQuestion, OverheadServerSettings } from './overhead-server.ts'
import { startSink, type Sink } from './start-sink.ts'
import type { TrackerName } from './tracker.ts'

const requests = 15_000
const warmUpRequests = 5_000
const connections = 16
const rounds = 7
/** The default of evroute's client. */
const flushAt = 20

const names = [
  'evroute',
  'evroute joining',
  '@segment/analytics-node',
  'none',
] as const satisfies TrackerName[]
type Name = (typeof names)[number]

/** Answers per second, and the server's CPU time per answer. */
interface Measured {
  readonly perSecond: number
  readonly cpuUs: number
}

interface Server {
  readonly program: Program<OverheadServerQuestion, number>
  readonly origin: string
}

/**
 * Measures how many requests per second an express server answers if it tracks a call in each: with evroute,
 * with analytics-node, and without a client. Each server runs in its own process; this one sends the
 * requests.
 */
export async function benchClientOverhead(): Promise<BenchReport> {
  const sink = await startSink()
  const servers = new Map<Name, Server>()
  try {
    for (const name of names) servers.set(name, await startServer(name, sink))
    const measure = async (name: Name, count: number): Promise<Measured> => {
      const server = servers.get(name)
      if (server === undefined) throw new Error(`There is no server for ${name}`)
      const { program, origin } = server
      const cpuBeforeUs = await program.ask('cpu')
      const perSecond = await load(origin, count)
      await program.ask('flush')
      const cpuUs = ((await program.ask('cpu')) - cpuBeforeUs) / count
      await sink.expectCalls(name === 'none' ? 0 : count)
      return { perSecond, cpuUs }
    }
    for (const name of names) await measure(name, warmUpRequests)
    return report(await inTurn(names, rounds, (name) => measure(name, requests)))
  } finally {
    for (const { program } of servers.values()) await program.end()
    await sink.end()
  }
}

async function startServer(tracker: TrackerName, { origin }: Sink): Promise<Server> {
  const settings: OverheadServerSettings = { tracker, origin, flushAt }
  const path = new URL('overhead-server.ts', import.meta.url)
  const program = await Program.start<OverheadServerQuestion, number>(path, settings)
  return { program, origin: `http://127.0.0.1:${await program.ask('port')}` }
}

/** @returns answers per second */
async function load(origin: string, count: number): Promise<number> {
  const pool = new Pool(origin, { connections })
  let next = 0
  const fetchOrders = async (): Promise<void> => {
    while (next < count) {
      const { statusCode, body } = await pool.request({ method: 'GET', path: `/orders/${next++}` })
      await body.dump()
      if (statusCode !== 200) throw new Error(`Answered ${statusCode}`)
    }
  }
  const elapsedMs = stopwatch()
  await Promise.all(Array.from({ length: connections }, fetchOrders))
  const perSecond = count / (elapsedMs() / 1_000)
  await pool.close()
  return perSecond
}

function report(measured: ReadonlyMap<Name, readonly Measured[]>): BenchReport {
  const rates = (name: Name): readonly number[] =>
    (measured.get(name) ?? []).map(({ perSecond }) => perSecond)
  const cpus = (name: Name): readonly number[] =>
    (measured.get(name) ?? []).map(({ cpuUs }) => cpuUs)
  const none = 'none'
  const segment = '@segment/analytics-node'
  return {
    bench: 'client-overhead',
    measured: `${requests} requests over ${connections} connections to an express app that tracks a call in each; the limit tracks none; medians of ${rounds} rounds; CPU time of the app in microseconds per request`,
    cases: (['evroute', 'evroute joining'] as const).map((name) => ({
      name: name === 'evroute' ? `flushAt ${flushAt}` : `flushAt ${flushAt}, batchMax 250`,
      rate: median(rates(name)),
      unit: 'requests/s',
      beside: {
        limit: ratiosOf(rates(name), rates(none)),
        "limit's CPU": ratiosOf(cpus(name), cpus(none)),
        [segment]: ratiosOf(rates(name), rates(segment)),
      },
      figures: {
        cpuUs: median(cpus(name)),
        limitCpuUs: median(cpus(none)),
        analyticsNodeCpuUs: median(cpus(segment)),
        analyticsNodeKept: Number(ratiosOf(rates(segment), rates(none)).median.toFixed(2)),
      },
    })),
    mustReach: '80 % of the limit',
    packages: ['@segment/analytics-node', 'express', 'undici'],
  }
}
