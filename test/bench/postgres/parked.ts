import { inTurn } from '../in-turn.ts'
import { ratiosOf, type BenchReport } from '../report.ts'
import { median } from '../table.ts'
import { measureRun, type Contender, type Place } from './measure-run.ts'
import { onServer, type Resources } from './on-server.ts'
import { sampleSecret } from '../sample-webhook.ts'
import { WaitingDeliveries } from './waiting-work.ts'

const backlog = 1_000_000
const webhooks = 20_000
const concurrency = 64
const rounds = 5

const parkedIn = { none: 0, many: backlog } as const
type Variant = keyof typeof parkedIn
const names = Object.keys(parkedIn) as readonly Variant[]

/** What a million deliveries to a dead endpoint cost those that go elsewhere. */
export async function benchParked(): Promise<BenchReport> {
  return await onServer(async (place, resources) => {
    const contenders = {
      none: await contenderOf('none', place, resources),
      many: await contenderOf('many', place, resources),
    }
    // What is compiled and read on the way is nobody's cost.
    for (const name of names) await measureRun(place, contenders[name])
    return report(await inTurn(names, rounds, (name) => measureRun(place, contenders[name])))
  })
}

async function contenderOf(
  name: Variant,
  { server, sink }: Place,
  resources: Resources,
): Promise<Contender> {
  const url = await server.newDatabase(`parked_${name}`)
  const about = { destinationId: 'healthy', isEmptied: false }
  const work = resources.keep(await WaitingDeliveries.open(url, about), (each) => each.close())
  await work.add('dead', parkedIn[name])
  const healthy = {
    id: 'healthy',
    sourceIds: ['healthy'],
    endpoints: [{ url: `${sink.origin}/` }],
    sharedSecret: sampleSecret,
    concurrency,
  }
  // Nothing listens on the port for sockets that discard, so that the breaker opens at once.
  const dead = { id: 'dead', sourceIds: ['dead'], endpoints: [{ url: 'http://127.0.0.1:9/' }] }
  const deliverers = await resources.evroute({ url, destinations: [healthy, dead], processes: 1 })
  return { work, deliverers, webhooks }
}

function report(results: ReadonlyMap<Variant, readonly number[]>): BenchReport {
  const [none = [], many = []] = names.map((name) => results.get(name))
  return {
    bench: 'postgres-parked',
    measured: `${webhooks} signed webhooks to a healthy destination, ${concurrency} at once, beside ${backlog.toLocaleString('en')} that wait for a dead one, ${rounds} rounds`,
    cases: [
      {
        name: `${backlog.toLocaleString('en')} parked`,
        rate: median(many),
        unit: 'webhooks/s',
        beside: { 'nothing parked': ratiosOf(many, none) },
      },
    ],
    mustReach: '0.8 of what is delivered with nothing parked',
    packages: ['pg'],
  }
}
