import { inTurn } from '../in-turn.ts'
import { ratiosOf, type BenchCase, type BenchReport } from '../report.ts'
import { sampleBody, sampleMessageId } from '../sample-webhook.ts'
import { Sink } from '../sink/sink.ts'
import { median, type Spread } from '../table.ts'
import { connections } from './contender.ts'
import { Contenders, type Contender } from './contenders.ts'

const rounds = 5
/** The contender that is evroute with ten destinations per event. */
const fannedOut = '10 destinations'
const warmUpShare = 0.2
const bodyBytes = Buffer.byteLength(sampleBody(sampleMessageId()))

/** Measures how many signed webhooks per second are accepted, delivered and settled. */
export async function benchDelivery(): Promise<BenchReport> {
  const sink = await Sink.start()
  const all = new Contenders(sink.origin)
  try {
    const contenders = new Map(
      Object.entries({
        evroute: await all.evroute(),
        [fannedOut]: await all.evroute(10),
        limit: await all.limit(),
        ...(await all.graphileWorker()),
        ...(await all.bullmq()),
      }),
    )
    const results = await measureAll(contenders, sink)
    return report(results, all.servers)
  } finally {
    await all.end()
    await sink.end()
  }
}

type Result = Awaited<ReturnType<Contender['deliver']>>

async function measureAll(
  contenders: ReadonlyMap<string, Contender>,
  sink: Sink,
): Promise<ReadonlyMap<string, readonly Result[]>> {
  const measure = async (name: string, share: number): Promise<Result> => {
    const contender = contenders.get(name)
    if (contender === undefined) throw new Error(`There is no contender ${name}`)
    const webhooks = contender.webhooks * share
    const result = await contender.deliver({ webhooks })
    await expectAll(name, webhooks, sink)
    return result
  }
  const names = [...contenders.keys()]
  // Warm-up: compiles the code and opens connections.
  for (const name of names) await measure(name, warmUpShare)
  return await inTurn(names, rounds, (name) => measure(name, 1))
}

/** Checks that a contender did the same work as the others. */
async function expectAll(name: string, webhooks: number, sink: Sink): Promise<void> {
  const arrivals = await sink.arrivals()
  const expected = { requests: webhooks, signed: webhooks, bodyBytes: webhooks * bodyBytes }
  if (JSON.stringify(arrivals) === JSON.stringify(expected)) return
  throw new Error(`${name} sent ${JSON.stringify(arrivals)} instead of ${JSON.stringify(expected)}`)
}

function report(
  results: ReadonlyMap<string, readonly Result[]>,
  servers: readonly string[],
): BenchReport {
  const ratesOf = (name: string): readonly number[] =>
    (results.get(name) ?? []).map(({ perSecond }) => perSecond)
  const figuresOf = (name: string): Omit<BenchCase, 'beside'> => {
    const measured = results.get(name) ?? []
    const medianOf = (field: 'cpuUs' | 'idleShare'): number =>
      median(measured.map((result) => result[field] ?? NaN))
    return {
      rate: median(ratesOf(name)),
      unit: 'webhooks/s',
      peakMemoryMb: Math.max(...measured.map(({ peakMemoryMb = NaN }) => peakMemoryMb)),
      figures: { cpuUs: medianOf('cpuUs'), idleShare: medianOf('idleShare') },
    }
  }
  const own = ratesOf('evroute')
  const others = [...results.keys()].filter((name) => name !== 'evroute' && name !== fannedOut)
  const beside: Record<string, Spread> = Object.fromEntries(
    others.map((name) => [name, ratiosOf(own, ratesOf(name))]),
  )
  const toOne = { 'one destination': ratiosOf(ratesOf(fannedOut), own) }
  return {
    bench: 'delivery',
    measured: `signed webhooks of ${bodyBytes} bytes from the first accepted to the last settled, ${connections} connections, SQLite with synchronous=FULL, ${rounds} rounds`,
    cases: [
      { ...figuresOf('evroute'), beside },
      { ...figuresOf(fannedOut), name: fannedOut, beside: toOne },
    ],
    mustReach:
      'at least 0.65 of the limit; with 10 destinations 0.77 of the rate with one; 3 times each peer with its defaults (tuned peers are for comparison)',
    packages: ['undici', 'graphile-worker', 'bullmq'],
    measuredWith: servers.join('; '),
  }
}
