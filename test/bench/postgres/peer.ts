import { inTurn } from '../in-turn.ts'
import { ratiosOf, type BenchReport } from '../report.ts'
import { median } from '../table.ts'
import {
  concurrency,
  measureRun,
  startContender,
  type Contender,
  type Setup,
} from './measure-run.ts'
import { onServer, type Resources } from './on-server.ts'
import { WaitingJobs } from './waiting-jobs.ts'

const webhooks = 20_000
const rounds = 5

/**
 * Configurations of graphile-worker. By default, it runs one job at a time, with ten connections and no
 * batches. The others follow its performance page, with as many jobs at once as evroute.
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

/** Compares evroute with graphile-worker: each delivers the same signed webhooks from the same server. */
export async function benchPeer(): Promise<BenchReport> {
  return await onServer(async (setup, resources) => {
    const url = await setup.server.newDatabase('evroute')
    const evroute = await startContender(setup, { url, processes: 1, webhooks }, resources)
    const contenders = new Map<Name, Contender>([['evroute', evroute]])
    for (const name of peerNames) contenders.set(name, await peer(name, setup, resources))
    const measure = async (name: Name): Promise<number> => {
      const contender = contenders.get(name)
      if (contender === undefined) throw new Error(`There is no contender ${name}`)
      return await measureRun(setup, contender)
    }
    // Warm-up: compiles the code and opens connections.
    for (const name of names) await measure(name)
    return report(await inTurn(names, rounds, measure))
  })
}

async function peer(name: Peer, { server, sink }: Setup, resources: Resources): Promise<Contender> {
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
    mustReach: '3 times graphile-worker with its defaults (the tuned ones are for comparison)',
    packages: ['pg', 'graphile-worker', 'undici'],
  }
}
