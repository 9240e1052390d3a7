import { inTurn } from '../in-turn.ts'
import { Program } from '../program.ts'
import { ratiosOf, type BenchReport } from '../report.ts'
import { median } from '../table.ts'
import type { ReceiverName } from './receiver-server.ts'
import { connections, sendWebhooks } from './send-webhooks.ts'

const warmUpRequests = 5_000
const requests = 30_000
const rounds = 5

const names = ['evroute', 'limit'] as const

/**
 * Measures how many signed webhooks per second the receiver answers, compared with an express app that only
 * reads them.
 */
export async function benchReceiver(): Promise<BenchReport> {
  const servers = { evroute: await startServer('evroute'), limit: await startServer('limit') }
  try {
    const measure = async (name: ReceiverName, count: number): Promise<number> =>
      sendWebhooks(`http://127.0.0.1:${await servers[name].ask('port')}`, count)
    await inTurn(names, 1, (name) => measure(name, warmUpRequests))
    return report(await inTurn(names, rounds, (name) => measure(name, requests)))
  } finally {
    for (const name of names) await servers[name].end()
  }
}

function startServer(name: ReceiverName): Promise<Program<'port', number>> {
  return Program.start(new URL('receiver-server.ts', import.meta.url), name)
}

function report(results: ReadonlyMap<ReceiverName, readonly number[]>): BenchReport {
  const own = results.get('evroute') ?? []
  return {
    bench: 'receiver',
    measured: `${requests} signed webhooks received over ${connections} connections, compared with an express app that reads raw bodies, ${rounds} rounds`,
    cases: [
      {
        rate: median(own),
        unit: 'webhooks/s',
        beside: { limit: ratiosOf(own, results.get('limit') ?? []) },
      },
    ],
    mustReach: 'the rate of the limit',
    packages: ['express', 'undici'],
  }
}
