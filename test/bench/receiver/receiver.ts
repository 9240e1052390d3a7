import { Pool } from 'undici'
import { stopwatch } from '../../../dist/runtime/index.js'
import { signBody } from '../../../dist/webhook/index.js'
import { inTurn } from '../in-turn.ts'
import { Program } from '../program.ts'
import { ratiosOf, type BenchReport } from '../report.ts'
import { sampleBody, sampleSecret } from '../sample-webhook.ts'
import { median } from '../table.ts'
import type { ReceiverName } from './receiver-server.ts'

const connections = 32
const warmUpRequests = 5_000
const requests = 30_000
const rounds = 5

const names = ['evroute', 'limit'] as const

const body = sampleBody('message-1')
const headers = { 'content-type': 'application/json', 'x-signature': signBody(body, sampleSecret) }

/** How many signed webhooks the receiver answers, beside an express app that only reads them. */
export async function benchReceiver(): Promise<BenchReport> {
  const servers = { evroute: await startServer('evroute'), limit: await startServer('limit') }
  try {
    const measure = async (name: ReceiverName, count: number): Promise<number> =>
      measureOnce(`http://127.0.0.1:${await servers[name].ask('port')}`, count)
    await inTurn(names, 1, (name) => measure(name, warmUpRequests))
    return report(await inTurn(names, rounds, (name) => measure(name, requests)))
  } finally {
    for (const name of names) await servers[name].end()
  }
}

function startServer(name: ReceiverName): Promise<Program<'port', number>> {
  return Program.start(new URL('receiver-server.ts', import.meta.url), name)
}

/** @returns requests per second */
async function measureOnce(origin: string, count: number): Promise<number> {
  const pool = new Pool(origin, { connections })
  let left = count
  const send = async (): Promise<void> => {
    while (left > 0) {
      left -= 1
      const response = await pool.request({ method: 'POST', path: '/', headers, body })
      await response.body.dump()
      if (response.statusCode !== 200) throw new Error(`Answered ${response.statusCode}`)
    }
  }
  const elapsedMs = stopwatch()
  await Promise.all(Array.from({ length: connections }, send))
  const seconds = elapsedMs() / 1_000
  await pool.close()
  return count / seconds
}

function report(results: ReadonlyMap<ReceiverName, readonly number[]>): BenchReport {
  const own = results.get('evroute') ?? []
  return {
    bench: 'receiver',
    measured: `${requests} signed webhooks received over ${connections} connections, beside an express app that reads raw bodies, ${rounds} rounds`,
    cases: [
      {
        rate: median(own),
        unit: 'webhooks/s',
        beside: { limit: ratiosOf(own, results.get('limit') ?? []) },
      },
    ],
    mustReach: 'the limit',
    packages: ['express', 'undici'],
  }
}
