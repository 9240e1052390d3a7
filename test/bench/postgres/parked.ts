import { inTurn } from '../in-turn.ts'
import { deadDestination, destinationTo } from '../load/destinations.ts'
import { ratiosOf, type BenchReport } from '../report.ts'
import { median } from '../table.ts'
import { measureRun, type Contender, type Setup } from './measure-run.ts'
import { onServer, type Resources } from './on-server.ts'
import { WaitingDeliveries } from './waiting-work.ts'

const backlog = 1_000_000
const webhooks = 20_000
const concurrency = 64
const rounds = 5

const parkedIn = { none: 0, many: backlog } as const
type Variant = keyof typeof parkedIn
const names = Object.keys(parkedIn) as readonly Variant[]

/**
 * Measures how much a million deliveries that wait for a dead endpoint slow down those to another endpoint.
 */
export async function benchParked(): Promise<BenchReport> {
  return await onServer(async (setup, resources) => {
    const contenders = {
      none: await contenderOf('none', setup, resources),
      many: await contenderOf('many', setup, resources),
    }
    // Warm-up: compiles the code and reads the pages.
    for (const name of names) await measureRun(setup, contenders[name])
    return report(await inTurn(names, rounds, (name) => measureRun(setup, contenders[name])))
  })
}

async function contenderOf(
  name: Variant,
  { server, sink }: Setup,
  resources: Resources,
): Promise<Contender> {
  const url = await server.newDatabase(`parked_${name}`)
  const about = { destinationId: 'healthy', isEmptied: false }
  const work = resources.keep(await WaitingDeliveries.open(url, about), (each) => each.close())
  await work.add(deadDestination.id, parkedIn[name])
  const destinations = [destinationTo('healthy', `${sink.origin}/`, concurrency), deadDestination]
  const deliverers = await resources.evroute({ url, destinations, processes: 1 })
  return { work, deliverers, webhooks }
}

function report(results: ReadonlyMap<Variant, readonly number[]>): BenchReport {
  const [none = [], many = []] = names.map((name) => results.get(name))
  return {
    bench: 'postgres-parked',
    measured: `${webhooks} signed webhooks to a healthy destination, ${concurrency} at once, while ${backlog.toLocaleString('en')} wait for a dead one, ${rounds} rounds`,
    cases: [
      {
        name: `${backlog.toLocaleString('en')} parked`,
        rate: median(many),
        unit: 'webhooks/s',
        beside: { 'nothing parked': ratiosOf(many, none) },
      },
    ],
    mustReach: '0.8 of the rate with nothing parked',
    packages: ['pg'],
  }
}
