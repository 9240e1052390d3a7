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
/** `none` makes the calls and drops them. Its memory is the baseline for the other trackers. */
const names: readonly TrackerName[] = ['evroute', 'evroute joining', ...others, 'none']

type Producer = Program<ProducerQuestion, Production>
type Productions = ReadonlyMap<TrackerName, readonly Production[]>

/**
 * Measures how many calls per second evroute's client, its peers and a minimal loop make, send and get
 * answered. Each runs in its own process and sends to the same sink.
 */
export async function benchClient(): Promise<BenchReport> {
  const sink = await startSink()
  try {
    const cases: BenchCase[] = []
    for (const flushAt of flushAts) {
      const productions = await measure(sink, flushAt)
      cases.push(caseOf(`flushAt ${flushAt}`, productions, 'evroute'))
      cases.push(caseOf(`flushAt ${flushAt}, batchMax 250`, productions, 'evroute joining'))
    }
    return {
      bench: 'client',
      measured: `${calls} small calls, 100 per turn of the event loop, from the first call to the last answer; with batchMax, evroute joins waiting batches while 4 are in flight; medians of ${rounds} rounds, and maxima of pauses and memory`,
      cases,
      mustReach:
        '5 times the rate of analytics-node with less memory, half the rate of the limit, no pause over 20 ms',
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

function caseOf(name: string, productions: Productions, evroute: TrackerName): BenchCase {
  const of = (name: TrackerName): readonly Production[] => productions.get(name) ?? []
  const ratesOf = (name: TrackerName): number[] => of(name).map(({ seconds }) => calls / seconds)
  const memoryOf = (name: TrackerName): number =>
    Math.max(...of(name).map(({ memoryMb }) => memoryMb))
  const figuresOf = (name: TrackerName, as: string): Record<string, number> => ({
    [`${as}OverBaselineMb`]: Math.round(memoryOf(name) - memoryOf('none')),
    [`${as}PauseMs`]: Math.round(Math.max(...of(name).map(({ pauseMs }) => pauseMs))),
  })
  return {
    name,
    rate: median(ratesOf(evroute)),
    unit: 'calls/s',
    beside: Object.fromEntries(
      others.map((other) => [other, ratiosOf(ratesOf(evroute), ratesOf(other))]),
    ),
    peakMemoryMb: memoryOf(evroute),
    figures: {
      ...figuresOf(evroute, 'evroute'),
      ...figuresOf('limit', 'limit'),
      ...figuresOf('@segment/analytics-node', 'analyticsNode'),
      ...figuresOf('posthog-node', 'posthogNode'),
    },
  }
}
