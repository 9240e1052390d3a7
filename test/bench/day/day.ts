import { setTimeout as sleep } from 'node:timers/promises'
import { heartbeatMs, processGoneMs } from '../../../dist/delivery/index.js'
import { stopwatch } from '../../../dist/runtime/index.js'
import { BenchServer } from '../postgres/bench-server.ts'
import { Resources } from '../postgres/on-server.ts'
import type { Program } from '../program.ts'
import type { BenchReport } from '../report.ts'
import { figuresOf, flatness, rowText, type Moment, type Row } from './figures.ts'
import { batchSize, processes, rowsOfDay, type DayPlan } from './plan.ts'
import { ServerWatch, statementSettings } from './server-figures.ts'
import type { ServiceSettings, ServiceState } from './service.ts'
import type { TrafficFigures, TrafficQuestion } from './traffic.ts'

type Traffic = Program<TrafficQuestion, TrafficFigures>
type ServiceProgram = Program<null, ServiceState>

interface Setup {
  readonly watch: ServerWatch
  readonly traffic: Traffic
  readonly services: readonly ServiceProgram[]
}

const secondsPerDay = 86_400
/** How long to wait for outstanding webhooks after the last event. */
const drainMs = 10_000

/**
 * Simulates a day in a few minutes. Shows whether processes that share a database stay as fast, and their
 * tables as small, while endpoints are dead and old rows are purged.
 */
export async function benchDay(plan: DayPlan): Promise<BenchReport> {
  const resources = new Resources()
  try {
    const server = resources.keep(await BenchServer.start(statementSettings), (each) => each.end())
    const setup = await setUp(server, resources)
    const rows = await run(setup, plan)
    const { missing } = await drain(setup)
    return {
      ...report(plan, rows),
      notes: [...verdictOf(rows, plan, missing), ...(await setup.watch.statements())],
      measuredWith: await server.description(),
    }
  } finally {
    await resources.end()
  }
}

async function setUp(server: BenchServer, resources: Resources): Promise<Setup> {
  const store = await server.newDatabase('day')
  const watch = resources.keep(await ServerWatch.open(store), (each) => each.end())
  const traffic = await resources.program<TrafficQuestion, TrafficFigures>(
    new URL('traffic.ts', import.meta.url),
  )
  const { origin } = await traffic.ask('figures')
  const settings: ServiceSettings = { store, origin }
  const services: ServiceProgram[] = []
  for (let count = 0; count < processes; count++) {
    services.push(await resources.program(new URL('service.ts', import.meta.url), settings))
  }
  // A process that joins sends nothing until the others have made room for it.
  await sleep(processGoneMs + 2 * heartbeatMs)
  await server.settle()
  return { watch, traffic, services }
}

async function run(
  setup: Setup,
  { durationMs, eventsPerSecond }: DayPlan,
): Promise<readonly Row[]> {
  const states = await Promise.all(setup.services.map((service) => service.ask(null)))
  await setup.traffic.ask({ services: states.map(({ url }) => url), eventsPerSecond })
  const elapsedMs = stopwatch()
  const rows: Row[] = []
  for (let last = await momentOf(setup); rows.length < rowsOfDay;) {
    await sleep(((rows.length + 1) * durationMs) / rowsOfDay - elapsedMs())
    const now = await momentOf(setup)
    const row = figuresOf(last, now)
    rows.push(row)
    process.stderr.write(`${rowText(rows.length, row)}\n`)
    last = now
  }
  return rows
}

async function momentOf({ watch, traffic, services }: Setup): Promise<Moment> {
  const elapsedMs = stopwatch()
  const states = await Promise.all(services.map((service) => service.ask(null)))
  const servicesCpuMs = states.reduce((sum, { cpuMs }) => sum + cpuMs, 0)
  return {
    elapsedMs,
    traffic: await traffic.ask('figures'),
    server: await watch.read(),
    servicesCpuMs,
  }
}

/** Waits for outstanding webhooks; those that are still missing afterwards are lost. */
async function drain({ traffic }: Setup): Promise<TrafficFigures> {
  const elapsedMs = stopwatch()
  let figures = await traffic.ask('stop')
  while (figures.missing > 0 && elapsedMs() < drainMs) {
    await sleep(100)
    figures = await traffic.ask('figures')
  }
  return figures
}

function report(
  { durationMs, eventsPerSecond }: DayPlan,
  rows: readonly Row[],
): Omit<BenchReport, 'notes'> {
  return {
    bench: 'day',
    measured: `${eventsPerSecond} events/s in batches of ${batchSize} for ${durationMs / 1_000} s to ${processes} services on one PostgreSQL; 1,000 destinations, of which 30 are dead and 19 take 2 s; everything is kept for one minute; each row covers a tenth of the time`,
    cases: rows.map(({ webhooksPerSecond: rate, ...figures }, index) => ({
      name: `${index + 1}`,
      rate,
      unit: 'webhooks/s',
      beside: {},
      figures,
    })),
    mustReach: 'the last row within 20 % of the second',
    packages: ['pg'],
  }
}

function verdictOf(
  rows: readonly Row[],
  { eventsPerSecond }: DayPlan,
  missing: number,
): readonly string[] {
  const last = rows.at(-1)
  const { flat, other } = flatness(rows[1], last)
  const perDay = (eventsPerSecond * secondsPerDay) / 1e6
  const cores = (((last?.serverCpuUs ?? NaN) + (last?.evrouteCpuUs ?? NaN)) * eventsPerSecond) / 1e6
  return [
    `Flat: ${flat.join(', ') || 'nothing'}`,
    `Not flat: ${other.join(', ') || 'nothing'}`,
    `Accepted events whose webhooks did not arrive at healthy endpoints: ${missing}`,
    `At this rate: ${perDay.toFixed(1)} million events a day, on ${cores.toFixed(2)} cores for the server and evroute`,
  ]
}
