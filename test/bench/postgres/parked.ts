import { ratios, spread, table } from '../table.ts'
import { inTurn, measureRun, type Contender, type Place } from './measure-run.ts'
import { onServer, type Resources } from './on-server.ts'
import { sampleSecret } from '../sample-webhook.ts'
import { WaitingDeliveries } from './waiting-work.ts'

const backlog = 1_000_000
const webhooks = 20_000
const concurrency = 64
const rounds = 3

const parkedIn = { none: 0, many: backlog } as const
type Variant = keyof typeof parkedIn
const names = Object.keys(parkedIn) as readonly Variant[]

/** What a million deliveries to a dead endpoint cost those that go elsewhere. */
export async function benchParked(): Promise<string> {
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
  { server, receiver }: Place,
  resources: Resources,
): Promise<Contender> {
  const url = await server.newDatabase(`parked_${name}`)
  const about = { destinationId: 'healthy', isEmptied: false }
  const work = resources.keep(await WaitingDeliveries.open(url, about), (each) => each.close())
  await work.add('dead', parkedIn[name])
  const healthy = {
    id: 'healthy',
    sourceIds: ['healthy'],
    endpoints: [{ url: `${receiver.origin}/` }],
    sharedSecret: sampleSecret,
    concurrency,
  }
  // Nothing listens on the port for sockets that discard, so that the breaker opens at once.
  const dead = { id: 'dead', sourceIds: ['dead'], endpoints: [{ url: 'http://127.0.0.1:9/' }] }
  const deliverers = await resources.evroute({ url, destinations: [healthy, dead], processes: 1 })
  return { work, deliverers, webhooks }
}

function report(results: ReadonlyMap<Variant, readonly number[]>): string {
  const [none = [], many = []] = names.map((name) => results.get(name))
  return [
    `PostgreSQL, parked: ${webhooks} signed webhooks to a healthy destination, ${concurrency} at once, medians (min..max) of ${rounds} rounds`,
    table(
      ['', 'delivered/s'],
      [
        ['nothing parked', spread(none)],
        [`${backlog.toLocaleString('en')} parked`, spread(many)],
      ],
    ),
    `throughput ${ratios(many, none)} (at least 0.8)`,
  ].join('\n')
}
