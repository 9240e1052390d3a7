import { inTurn } from '../in-turn.ts'
import { ratiosOf, type BenchReport } from '../report.ts'
import { median } from '../table.ts'
import { concurrency, measureRun, startContender } from './measure-run.ts'
import { all, onServer } from './on-server.ts'

const webhooks = 20_000
const warmUpWebhooks = 2_000
const rounds = 5

/** The number of processes in each variant. */
const variants = { one: 1, two: 2, four: 4 } as const
type Variant = keyof typeof variants
const names = Object.keys(variants) as readonly Variant[]

/** Measures how fast 1, 2 and 4 processes deliver from one database. */
export async function benchProcesses(): Promise<BenchReport> {
  return await onServer(async (setup, resources) => {
    const urls = new Map<Variant, string>()
    for (const name of names) urls.set(name, await setup.server.newDatabase(`processes_${name}`))
    // All at the same time, because each process that joins waits for its share.
    const started = await all(
      Array.from(urls, async ([name, url]) => {
        const settings = { url, processes: variants[name], webhooks }
        return [name, await startContender(setup, settings, resources)] as const
      }),
    )
    const contenders = new Map(started)
    const measure = async (name: Variant, count: number): Promise<number> => {
      const contender = contenders.get(name)
      if (contender === undefined) throw new Error(`There is no contender ${name}`)
      return await measureRun(setup, { ...contender, webhooks: count })
    }
    for (const name of names) await measure(name, warmUpWebhooks)
    return report(await inTurn(names, rounds, (name) => measure(name, webhooks)))
  })
}

function report(results: ReadonlyMap<Variant, readonly number[]>): BenchReport {
  const one = results.get('one') ?? []
  return {
    bench: 'postgres-processes',
    measured: `${webhooks} signed webhooks by 1, 2 and 4 processes, ${concurrency} at once in total, ${rounds} rounds`,
    cases: [...results].map(([name, perSecond]) => ({
      name: `${variants[name]} ${variants[name] === 1 ? 'process' : 'processes'}`,
      rate: median(perSecond),
      unit: 'webhooks/s',
      beside: name === 'one' ? {} : { 'one process': ratiosOf(perSecond, one) },
    })),
    mustReach: 'nothing; with more cores, it shows how processes share the work',
    packages: ['pg'],
  }
}
