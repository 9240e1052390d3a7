import { inTurn } from '../in-turn.ts'
import { Program } from '../program.ts'
import { ratiosOf, type BenchCase, type BenchReport } from '../report.ts'
import { median } from '../table.ts'
import type { Production, ProducerQuestion, ProducerSettings } from './producer.ts'
import { startSink, type Sink } from './start-sink.ts'
import type { TrackerName } from './tracker.ts'

const calls = 20_000
const warmUpCalls = 10_000
const rounds = 5
const flushAts = [20, 250] as const

const peers = ['@segment/analytics-node', 'posthog-node'] as const
const others = ['limit', ...peers] as const
/** `none` makes the calls and sends nothing: what the others have on top of its memory is their own. */
const names: readonly TrackerName[] = ['evroute', ...others, 'none']

type Producer = Program<ProducerQuestion, Production>
type Productions = ReadonlyMap<TrackerName, readonly Production[]>

/**
 * Calls per second that are made, sent and answered, of evroute's client, of its peers and of the barest
 * loop. Each runs in a process of its own and sends to the same sink.
 */
export async function benchClient(): Promise<BenchReport> {
  const sink = await startSink()
  try {
    const cases: BenchCase[] = []
    for (const flushAt of flushAts) cases.push(caseOf(flushAt, await measure(sink, flushAt)))
    return {
      bench: 'client',
      measured: `${calls} small calls, 100 per turn of the event loop, from the first to the last answer; evroute joins batches that are due before the last one is answered; medians of ${rounds} rounds, pauses and memory the worst of them`,
      cases,
      mustReach:
        '10 times analytics-node, half of the limit, under 100 MB over the baseline, no pause over 20 ms',
      packages: [...peers, 'undici'],
    }
  } finally {
    await sink.end()
  }
}

async function measure(sink: Sink, flushAt: number): Promise<Productions> {
  const producers = new Map<TrackerName, Producer>()
  try {
    for (const tracker of names) {
      const settings: ProducerSettings = { tracker, origin: sink.origin, flushAt }
      const path = new URL('producer.ts', import.meta.url)
      producers.set(tracker, await Program.start(path, settings))
    }
    const produce = async (name: TrackerName, count: number): Promise<Production> => {
      const producer = producers.get(name)
      if (producer === undefined) throw new Error(`There is no producer for ${name}`)
      const production = await producer.ask({ calls: count })
      await sink.expectCalls(name === 'none' ? 0 : count)
      return production
    }
    for (const name of names) await produce(name, warmUpCalls)
    return await inTurn(names, rounds, (name) => produce(name, calls))
  } finally {
    for (const producer of producers.values()) await producer.end()
  }
}

function caseOf(flushAt: number, productions: Productions): BenchCase {
  const of = (name: TrackerName): readonly Production[] => productions.get(name) ?? []
  const ratesOf = (name: TrackerName): number[] => of(name).map(({ seconds }) => calls / seconds)
  const memoryOf = (name: TrackerName): number =>
    Math.max(...of(name).map(({ memoryMb }) => memoryMb))
  const figuresOf = (name: TrackerName, as: string): Record<string, number> => ({
    [`${as}OverBaselineMb`]: Math.round(memoryOf(name) - memoryOf('none')),
    [`${as}PauseMs`]: Math.round(Math.max(...of(name).map(({ pauseMs }) => pauseMs))),
  })
  return {
    name: `flushAt ${flushAt}`,
    rate: median(ratesOf('evroute')),
    unit: 'calls/s',
    beside: Object.fromEntries(
      others.map((name) => [name, ratiosOf(ratesOf('evroute'), ratesOf(name))]),
    ),
    peakMemoryMb: memoryOf('evroute'),
    figures: {
      ...figuresOf('evroute', 'evroute'),
      ...figuresOf('limit', 'limit'),
      ...figuresOf('@segment/analytics-node', 'analyticsNode'),
      ...figuresOf('posthog-node', 'posthogNode'),
    },
  }
}
