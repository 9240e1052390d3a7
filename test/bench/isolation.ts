import { join } from 'node:path'
import type { DestinationSettings } from '../../dist/webhook/index.js'
import { scratchFolder } from '../support/scratch-folder.ts'
import { inTurn } from './in-turn.ts'
import { destinationTo } from './load/destinations.ts'
import { startLoadProgram, type LoadProgram, type Measurement } from './load/load.ts'
import { ratiosOf, type BenchReport } from './report.ts'
import { Sink } from './sink/sink.ts'
import { median } from './table.ts'

const destinationCount = 50
/** Every fifth destination hangs, so that they are spread among the others. */
const hangsEvery = 5
const rounds = 5
const batchSize = 20
/** Offered at once, to measure the rate. */
const fullEvents = 10_000
/**
 * Offered at a fixed rate, for longer than a request may hang, so that the run has both hanging requests and
 * open breakers.
 */
const pacedEvents = 10_000
/** About a third of the maximum rate, so that latencies are not those of a full queue. */
const pacePerSecond = 1_500

const variants = ['all healthy', 'hanging'] as const
type Variant = (typeof variants)[number]

/** The figures of the destinations that never hang. */
interface Result {
  readonly perSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
}

/**
 * Measures how 10 hanging destinations of 50 affect the other 40, compared with a run in which none hangs.
 */
export async function benchIsolation(): Promise<BenchReport> {
  const sink = await Sink.start()
  const program = await startLoadProgram()
  const measure = async (variant: Variant): Promise<Result> => {
    const destinations = destinationsOf(variant, sink.origin)
    const paced = await measureOnce(program, destinations, pacePerSecond)
    const { perSecond } = await measureOnce(program, destinations)
    const { p50Ms = NaN, p99Ms = NaN } = paced.latency ?? {}
    return { perSecond, p50Ms, p99Ms }
  }
  try {
    // Warm-up: compiles the code and opens connections.
    await measureOnce(program, destinationsOf('all healthy', sink.origin))
    return report(await inTurn(variants, rounds, measure))
  } finally {
    await program.end()
    await sink.end()
  }
}

function destinationsOf(variant: Variant, origin: string): readonly DestinationSettings[] {
  return Array.from({ length: destinationCount }, (_, index) => {
    const hangs = variant === 'hanging' && mayHang(index)
    return destinationTo(`destination-${index}`, `${origin}/${hangs ? 'hang' : 'ok'}/${index}`)
  })
}

function mayHang(index: number): boolean {
  return index % hangsEvery === 0
}

async function measureOnce(
  program: LoadProgram,
  destinations: readonly DestinationSettings[],
  eventsPerSecond?: number,
): Promise<Measurement> {
  await using folder = await scratchFolder()
  const sourceIds = destinations.map(({ id }) => id)
  return await program.ask({
    path: join(folder.path, 'store.db'),
    destinations,
    sourceIds,
    measuredIds: sourceIds.filter((_, index) => !mayHang(index)),
    batchSize,
    events: eventsPerSecond === undefined ? fullEvents : pacedEvents,
    ...(eventsPerSecond === undefined ? {} : { eventsPerSecond }),
  })
}

function report(results: ReadonlyMap<Variant, readonly Result[]>): BenchReport {
  const [healthy, hanging] = variants.map((variant) => results.get(variant) ?? [])
  const figuresOf = (measured: readonly Result[] = []): Result => ({
    perSecond: median(measured.map(({ perSecond }) => perSecond)),
    p50Ms: median(measured.map(({ p50Ms }) => p50Ms)),
    p99Ms: median(measured.map(({ p99Ms }) => p99Ms)),
  })
  const rates = (measured: readonly Result[] = []): readonly number[] =>
    measured.map(({ perSecond }) => perSecond)
  const p99 = ratiosOf(
    (hanging ?? []).map(({ p99Ms }) => p99Ms),
    (healthy ?? []).map(({ p99Ms }) => p99Ms),
  )
  return {
    bench: 'isolation',
    measured: `webhooks/s of the healthy destinations while ${destinationCount / hangsEvery} of ${destinationCount} hang; milliseconds from accepted to 2xx at ${pacePerSecond} events/s, ${rounds} rounds`,
    cases: [
      {
        rate: figuresOf(hanging).perSecond,
        unit: 'webhooks/s',
        beside: { 'all healthy': ratiosOf(rates(hanging), rates(healthy)) },
        figures: {
          p50Ms: figuresOf(hanging).p50Ms,
          p99Ms: figuresOf(hanging).p99Ms,
          healthyP99Ms: figuresOf(healthy).p99Ms,
          p99Ratio: p99.median,
          p99RatioMin: p99.min,
          p99RatioMax: p99.max,
        },
      },
    ],
    mustReach: 'p99Ratio at most 1.5; rate at least 0.9 of that with all healthy',
  }
}
