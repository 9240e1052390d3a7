import { inTurn } from '../in-turn.ts'
import { ratiosOf, type BenchReport } from '../report.ts'
import { median } from '../table.ts'
import { measureRun, type Contender, type Place } from './measure-run.ts'
import { onServer, type Resources } from './on-server.ts'
import { sampleSecret } from '../sample-webhook.ts'
import { WaitingDeliveries, WaitingJobs } from './waiting-work.ts'

const webhooks = 20_000
const concurrency = 64
const rounds = 5

/**
 * How graphile-worker is run. By default it does one job after the other, with a pool of ten connections
 * and no batches; the others are what its page on performance advises, for as many jobs at once.
 */
const peers = {
  'graphile-worker': { webhooks: 1_000, worker: {} },
  'graphile-worker (64 jobs at once)': {
    webhooks: 5_000,
    worker: { concurrentJobs: concurrency },
  },
  'graphile-worker (tuned)': {
    webhooks,
    worker: {
      concurrentJobs: concurrency,
      maxPoolSize: concurrency + 1,
      localQueue: { size: 500 },
      completeJobBatchDelay: 0,
      failJobBatchDelay: 0,
    },
  },
} as const
type Peer = keyof typeof peers
const peerNames = Object.keys(peers) as readonly Peer[]

const names = ['evroute', ...peerNames] as const
type Name = (typeof names)[number]

/** How fast the same signed webhooks are delivered from the same server by graphile-worker. */
export async function benchPeer(): Promise<BenchReport> {
  return await onServer(async (place, resources) => {
    const contenders = new Map<Name, Contender>([['evroute', await evroute(place, resources)]])
    for (const name of peerNames) contenders.set(name, await peer(name, place, resources))
    const measure = async (name: Name): Promise<number> => {
      const contender = contenders.get(name)
      if (contender === undefined) throw new Error(`Nobody delivers as ${name}`)
      return await measureRun(place, contender)
    }
    // What is compiled and read on the way is nobody's cost.
    for (const name of names) await measure(name)
    return report(await inTurn(names, rounds, measure))
  })
}

async function evroute({ server, sink }: Place, resources: Resources): Promise<Contender> {
  const url = await server.newDatabase('evroute')
  const destinationId = 'crm'
  const opened = await WaitingDeliveries.open(url, { destinationId })
  const work = resources.keep(opened, (each) => each.close())
  const endpoints = [{ url: `${sink.origin}/` }]
  const about = { id: destinationId, sourceIds: [destinationId], sharedSecret: sampleSecret }
  const destinations = [{ ...about, endpoints, concurrency }]
  return {
    work,
    deliverers: await resources.evroute({ url, destinations, processes: 1 }),
    webhooks,
  }
}

async function peer(name: Peer, { server, sink }: Place, resources: Resources): Promise<Contender> {
  const url = await server.newDatabase(`peer_${peerNames.indexOf(name)}`)
  const work = resources.keep(await WaitingJobs.open(url), (each) => each.close())
  const { origin } = sink
  const { worker, webhooks } = peers[name]
  const deliverers = await resources.peer({ url, origin, connections: concurrency, worker })
  return { work, deliverers, webhooks }
}

function report(results: ReadonlyMap<Name, readonly number[]>): BenchReport {
  const own = results.get('evroute') ?? []
  const beside = peerNames.map((name) => [name, ratiosOf(own, results.get(name) ?? [])] as const)
  const options = peerNames.map((name) => `${name}: ${JSON.stringify(peers[name].worker)}`)
  return {
    bench: 'postgres-peer',
    measured: `signed webhooks from the same server, evroute with ${concurrency} at once, ${rounds} rounds; ${options.join('; ')}`,
    cases: [{ rate: median(own), unit: 'webhooks/s', beside: Object.fromEntries(beside) }],
    mustReach: '3 of graphile-worker by default; the tuned ones are there to compare',
    packages: ['pg', 'graphile-worker', 'undici'],
  }
}
