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

interface Scene {
  readonly watch: ServerWatch
  readonly traffic: Traffic
  readonly services: readonly ServiceProgram[]
}

const secondsOfDay = 86_400
/** How long webhooks may take to come once no more events are posted. */
const drainMs = 10_000

/**
 * A day of traffic in a few minutes: whether processes that share a database stay as fast and as small as they
 * were while endpoints are dead and old rows are purged.
 */
export async function benchDay(plan: DayPlan): Promise<BenchReport> {
  const resources = new Resources()
  try {
    const server = resources.keep(await BenchServer.start(statementSettings), (each) => each.end())
    const scene = await setUp(server, resources)
    const rows = await run(scene, plan)
    const { missing } = await drain(scene)
    return {
      ...report(plan, rows),
      notes: [...verdictOf(rows, plan, missing), ...(await scene.watch.statements())],
      measuredWith: await server.description(),
    }
  } finally {
    await resources.end()
  }
}

async function setUp(server: BenchServer, resources: Resources): Promise<Scene> {
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
  // Whoever joins others sends nothing until they have made room.
  await sleep(processGoneMs + 2 * heartbeatMs)
  await server.settle()
  return { watch, traffic, services }
}

async function run(
  scene: Scene,
  { durationMs, eventsPerSecond }: DayPlan,
): Promise<readonly Row[]> {
  const states = await Promise.all(scene.services.map((service) => service.ask(null)))
  await scene.traffic.ask({ services: states.map(({ url }) => url), eventsPerSecond })
  const elapsedMs = stopwatch()
  const rows: Row[] = []
  for (let last = await momentOf(scene); rows.length < rowsOfDay;) {
    await sleep(((rows.length + 1) * durationMs) / rowsOfDay - elapsedMs())
    const now = await momentOf(scene)
    const row = figuresOf(last, now)
    rows.push(row)
    process.stderr.write(`${rowText(rows.length, row)}\n`)
    last = now
  }
  return rows
}

async function momentOf({ watch, traffic, services }: Scene): Promise<Moment> {
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

/** Waits for the webhooks that are on their way, so that a lost one is seen. */
async function drain({ traffic }: Scene): Promise<TrafficFigures> {
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
    measured: `${eventsPerSecond} events/s in batches of ${batchSize} for ${durationMs / 1_000} s to ${processes} services on one PostgreSQL; 1,000 destinations, of which 30 are dead and 20 take 2 s; everything is kept for one minute; a row is a tenth`,
    cases: rows.map(({ webhooksPerSecond: rate, ...figures }, index) => ({
      name: `${index + 1}`,
      rate,
      unit: 'webhooks/s',
      beside: {},
      figures,
    })),
    mustReach: 'the last row within 20 % of the second one',
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
  const aDay = (eventsPerSecond * secondsOfDay) / 1e6
  const cores = (((last?.serverCpuUs ?? NaN) + (last?.evrouteCpuUs ?? NaN)) * eventsPerSecond) / 1e6
  return [
    `Flat: ${flat.join(', ') || 'nothing'}`,
    `Not flat: ${other.join(', ') || 'nothing'}`,
    `${missing} accepted events for healthy endpoints have not come`,
    `At this rate a day has ${aDay.toFixed(1)} million events, for ${cores.toFixed(2)} cores of server and evroute`,
  ]
}
