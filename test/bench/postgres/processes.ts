import { inTurn } from '../in-turn.ts'
import { ratiosOf, type BenchReport } from '../report.ts'
import { median } from '../table.ts'
import { measureRun, type Contender, type Place } from './measure-run.ts'
import { onServer, type Resources } from './on-server.ts'
import { sampleSecret } from '../sample-webhook.ts'
import { WaitingDeliveries } from './waiting-work.ts'

const webhooks = 20_000
const warmUpWebhooks = 2_000
const concurrency = 64
const rounds = 5

/** How many processes there are. */
const variants = { one: 1, two: 2, four: 4 } as const
type Variant = keyof typeof variants
const names = Object.keys(variants) as readonly Variant[]

/** How fast 1, 2 and 4 processes deliver what waits in one database. */
export async function benchProcesses(): Promise<BenchReport> {
  return await onServer(async (place, resources) => {
    const urls = new Map<Variant, string>()
    for (const name of names) urls.set(name, await place.server.newDatabase(`processes_${name}`))
    // Together: whoever joins others waits for its share.
    const started = await Promise.allSettled(
      [...urls].map(async ([name, url]) => {
        const contender = await contenderOf(place, { url, processes: variants[name] }, resources)
        return [name, contender] as const
      }),
    )
    const contenders = new Map(started.map(valueOf))
    const measure = async (name: Variant, count: number): Promise<number> => {
      const contender = contenders.get(name)
      if (contender === undefined) throw new Error(`Nobody delivers as ${name}`)
      return await measureRun(place, { ...contender, webhooks: count })
    }
    for (const name of names) await measure(name, warmUpWebhooks)
    return report(await inTurn(names, rounds, (name) => measure(name, webhooks)))
  })
}

/** What came of something that is over. */
function valueOf<Result>(outcome: PromiseSettledResult<Result>): Result {
  if (outcome.status === 'rejected') throw outcome.reason
  return outcome.value
}

async function contenderOf(
  { sink }: Place,
  { url, processes }: { readonly url: string; readonly processes: number },
  resources: Resources,
): Promise<Contender> {
  const destinationId = 'crm'
  const opened = await WaitingDeliveries.open(url, { destinationId })
  const work = resources.keep(opened, (each) => each.close())
  const endpoints = [{ url: `${sink.origin}/` }]
  const about = { id: destinationId, sourceIds: [destinationId], sharedSecret: sampleSecret }
  const destinations = [{ ...about, endpoints, concurrency }]
  return { work, deliverers: await resources.evroute({ url, destinations, processes }), webhooks }
}

function report(results: ReadonlyMap<Variant, readonly number[]>): BenchReport {
  const one = results.get('one') ?? []
  return {
    bench: 'postgres-processes',
    measured: `${webhooks} signed webhooks by 1, 2 and 4 processes, ${concurrency} at once over all, ${rounds} rounds`,
    cases: [...results].map(([name, perSecond]) => ({
      name: `${variants[name]} ${variants[name] === 1 ? 'process' : 'processes'}`,
      rate: median(perSecond),
      unit: 'webhooks/s',
      beside: name === 'one' ? {} : { 'one process': ratiosOf(perSecond, one) },
    })),
    mustReach: 'nothing: with more cores than here it shows how processes share the work',
    packages: ['pg'],
  }
}
