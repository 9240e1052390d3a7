import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Destination } from '../../src/model/index.ts'
import { checkDestination } from '../../src/webhook/index.ts'
import { measure, type Measurement } from './load.ts'
import { startReceiver } from './start-receiver.ts'
import { median, ratio, table } from './table.ts'

const destinationCount = 50
const badCount = 10
const events = 20_000
const rounds = 3
/** About a third of what the machine can do, so that latencies are those of a queue that is not full. */
const pacePerSecond = 1_500

type Variant = 'all healthy' | '10 hanging'

/**
 * 50 destinations, 10 of which hang for 5 s on every request, or none: what the 40 others notice. Both
 * variants take turns in one run, in both orders.
 */
export async function benchIsolation(): Promise<string> {
  const receiver = await startReceiver()
  const results: Record<Variant, { paced: Measurement[]; full: Measurement[] }> = {
    'all healthy': { paced: [], full: [] },
    '10 hanging': { paced: [], full: [] },
  }
  const order: readonly Variant[] = ['all healthy', '10 hanging']
  try {
    // What is compiled and opened on the way is nobody's latency.
    await measureOnce(destinationsOf('all healthy', receiver.origin))
    for (let round = 0; round < rounds; round++) {
      for (const variant of round % 2 === 0 ? order : order.toReversed()) {
        const destinations = destinationsOf(variant, receiver.origin)
        results[variant].paced.push(await measureOnce(destinations, pacePerSecond))
        results[variant].full.push(await measureOnce(destinations))
      }
    }
  } finally {
    receiver.stop()
  }
  return report(results)
}

function destinationsOf(variant: Variant, origin: string): readonly Destination[] {
  const bad = variant === '10 hanging' ? badCount : 0
  return Array.from({ length: destinationCount }, (_, index) => {
    // Every fifth, so that they stand among the others.
    const hangs = index % (destinationCount / badCount) === 0 && bad > 0
    const id = `destination-${index}`
    const url = `${origin}/${hangs ? 'hang' : 'ok'}/${index}`
    return checkDestination({ id, sourceIds: [id], endpoints: [{ url }] })
  })
}

async function measureOnce(
  destinations: readonly Destination[],
  eventsPerSecond?: number,
): Promise<Measurement> {
  const folder = await mkdtemp(join(tmpdir(), 'evroute-bench-'))
  const healthy = destinations.filter((_, index) => index % (destinationCount / badCount) !== 0)
  try {
    return await measure({
      path: join(folder, 'store.db'),
      destinations,
      fed: destinations,
      measured: new Set(healthy.map(({ id }) => id)),
      events,
      ...(eventsPerSecond === undefined ? {} : { eventsPerSecond }),
    })
  } finally {
    await rm(folder, { recursive: true })
  }
}

function report(
  results: Readonly<
    Record<Variant, { paced: readonly Measurement[]; full: readonly Measurement[] }>
  >,
): string {
  const rows = (['all healthy', '10 hanging'] as const).map((variant) => {
    const { paced, full } = results[variant]
    return {
      variant,
      p50: median(paced.map(({ p50Ms }) => p50Ms)),
      p99: median(paced.map(({ p99Ms }) => p99Ms)),
      perSecond: median(full.map(({ perSecond }) => perSecond)),
    }
  })
  const [healthy, hanging] = rows
  return [
    `Isolation: ${destinationCount} destinations, ${events} events; the 40 that are always healthy, medians of ${rounds} rounds`,
    table(
      ['', `p50 at ${pacePerSecond}/s`, `p99 at ${pacePerSecond}/s`, 'delivered/s at full speed'],
      rows.map(({ variant, p50, p99, perSecond }) => [
        variant,
        `${p50.toFixed(1)} ms`,
        `${p99.toFixed(1)} ms`,
        perSecond.toFixed(0),
      ]),
    ),
    `p99 ${ratio(hanging?.p99, healthy?.p99)} (at most 1.5), throughput ${ratio(hanging?.perSecond, healthy?.perSecond)} (at least 0.9)`,
  ].join('\n')
}
