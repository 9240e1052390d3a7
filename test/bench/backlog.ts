import { join } from 'node:path'
import { scratchFolder } from '../support/scratch-folder.ts'
import { inTurn } from './in-turn.ts'
import { deadDestination, destinationTo } from './load/destinations.ts'
import { fillStore } from './load/fill-store.ts'
import { removeStore } from './load/remove-store.ts'
import { startLoadProgram, type LoadProgram, type Measurement } from './load/load.ts'
import { ratiosOf, type BenchReport } from './report.ts'
import { Sink } from './sink/sink.ts'
import { median } from './table.ts'

const backlog = 1_000_000
const events = 20_000
const rounds = 5
const concurrency = 50

const variants = ['empty store', '1,000,000 parked'] as const
type Variant = (typeof variants)[number]

/**
 * Measures how much a million deliveries that wait for a dead endpoint slow down those to another endpoint.
 */
export async function benchBacklog(): Promise<BenchReport> {
  await using folder = await scratchFolder()
  const sink = await Sink.start()
  const programs: Record<Variant, LoadProgram> = {
    'empty store': await startLoadProgram(),
    '1,000,000 parked': await startLoadProgram(),
  }
  const destinations = [destinationTo('healthy', `${sink.origin}/`, concurrency), deadDestination]
  const measure = async (variant: Variant): Promise<Measurement> => {
    const path = join(folder.path, `${variant}.db`)
    // The filled store is reused: a run adds little to a million.
    if (variant === 'empty store') await removeStore(path)
    return await programs[variant].ask({ path, destinations, sourceIds: ['healthy'], events })
  }
  try {
    const parked = { destinationId: deadDestination.id, count: backlog, state: 'pending' } as const
    await fillStore(join(folder.path, '1,000,000 parked.db'), [parked])
    // Warm-up: compiles the code and opens connections.
    for (const variant of variants) await measure(variant)
    return report(await inTurn(variants, rounds, measure))
  } finally {
    for (const variant of variants) await programs[variant].end()
    await sink.end()
  }
}

function report(results: ReadonlyMap<Variant, readonly Measurement[]>): BenchReport {
  const measuredOf = (variant: Variant): readonly Measurement[] => results.get(variant) ?? []
  const ratesOf = (variant: Variant): readonly number[] =>
    measuredOf(variant).map(({ perSecond }) => perSecond)
  const parked = ratesOf('1,000,000 parked')
  return {
    bench: 'backlog',
    measured: `${events} signed webhooks to a healthy destination while ${backlog.toLocaleString('en')} wait for one that is down, ${rounds} rounds`,
    cases: [
      {
        rate: median(parked),
        unit: 'webhooks/s',
        beside: { 'empty store': ratiosOf(parked, ratesOf('empty store')) },
        peakMemoryMb: peakOf(measuredOf('1,000,000 parked')),
        figures: { emptyStorePeakMb: Math.round(peakOf(measuredOf('empty store'))) },
      },
    ],
    mustReach: 'at least 0.8 of the rate with an empty store, at most 400 MB',
  }
}

function peakOf(measured: readonly Measurement[]): number {
  return Math.max(...measured.map(({ peakMemoryMb }) => peakMemoryMb))
}
