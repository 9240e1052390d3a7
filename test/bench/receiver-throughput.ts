import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { Pool } from 'undici'
import { stopwatch } from '../../src/runtime/index.ts'
import { signBody } from '../../src/webhook/index.ts'
import { median, ratio, table } from './table.ts'

const secret = 'not-a-real-secret'
const connections = 32
const warmUpRequests = 5_000
const requests = 30_000
const rounds = 5

const variants = ['express', 'receiver'] as const
type Variant = (typeof variants)[number]

const body = JSON.stringify({
  version: 1,
  type: 'track',
  userId: 'u_1',
  event: 'Order Completed',
  properties: { revenue: '39.95', note: 'x'.repeat(300) },
  context: {},
  timestamp: '2026-01-02T03:04:05.678Z',
  messageId: 'm_1',
})

/**
 * Signed webhooks per second that the receiver answers, against an express app that does nothing but
 * read the raw body. Each is a process of its own; they take turns in one run.
 */
export async function benchReceiver(): Promise<string> {
  const servers = { express: await startServer('express'), receiver: await startServer('receiver') }
  const results: Record<Variant, number[]> = { express: [], receiver: [] }
  try {
    for (const variant of variants) await measureOnce(servers[variant].origin, warmUpRequests)
    for (let round = 0; round < rounds; round++) {
      for (const variant of round % 2 === 0 ? variants : variants.toReversed()) {
        results[variant].push(await measureOnce(servers[variant].origin, requests))
      }
    }
  } finally {
    for (const variant of variants) servers[variant].stop()
  }
  return report(results)
}

async function startServer(variant: Variant): Promise<{ origin: string; stop: () => void }> {
  const program = fileURLToPath(new URL('receiver-server.ts', import.meta.url))
  const child = fork(program, [variant, secret])
  const [port] = (await once(child, 'message')) as [number]
  return { origin: `http://127.0.0.1:${port}`, stop: () => child.disconnect() }
}

/** @returns requests per second */
async function measureOnce(origin: string, count: number): Promise<number> {
  const pool = new Pool(origin, { connections })
  const headers = { 'content-type': 'application/json', 'x-signature': signBody(body, secret) }
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

function report(results: Readonly<Record<Variant, readonly number[]>>): string {
  const [bare, full] = [median(results.express), median(results.receiver)]
  return [
    `Receiver: ${requests} signed webhooks over ${connections} connections, medians of ${rounds} rounds`,
    table(
      ['', 'answered/s'],
      [
        ['express with raw bodies', bare.toFixed(0)],
        ['receiver', full.toFixed(0)],
      ],
    ),
    `throughput ${ratio(full, bare)} (at least 0.5)`,
  ].join('\n')
}
