import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { sleep, stopwatch, systemClock } from '../../../src/runtime/index.ts'
import {
  openPostgresStore,
  type PostgresStore,
} from '../../../src/store/postgres/postgres-store.ts'
import { eventsTo } from '../../delivery/dispatching.ts'
import { PostgresServer } from '../../support/postgres.ts'
import type { PressureFinding, PressureScenario } from '../scenario.ts'

const leaseMs = 3_000
const suspendedMs = 4 * leaseMs
const destinations = 8
const eventsEach = 300
const requestsMax = 32
const worker = new URL('../deliver-from-postgres.ts', import.meta.url)
const typescript = new URL('../../support/typescript.js', import.meta.url)

/** Starts an endpoint that answers after 200 ms, and records which process sent each delivery. */
async function startEndpoint() {
  const arrivals: { readonly body: string; readonly process: string; readonly atMs: number }[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    const sender = new URL(request.url ?? '', 'http://example.com').searchParams.get('process')
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString()
      arrivals.push({ body, process: sender ?? '', atMs: systemClock.nowMs() })
      systemClock.schedule(200, () => response.end())
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const close = (): void => {
    server.close().closeAllConnections()
  }
  return { arrivals, url: `http://127.0.0.1:${port}/`, close }
}

async function startWorker(databaseUrl: string, endpointUrl: string): Promise<ChildProcess> {
  const args = [databaseUrl, endpointUrl, String(leaseMs), String(destinations)]
  const argv = ['--import', fileURLToPath(typescript), fileURLToPath(worker), ...args]
  const child = spawn(process.execPath, argv, { stdio: ['ignore', 'pipe', 'inherit'] })
  await once(child.stdout, 'data')
  return child
}

async function suspend(
  store: PostgresStore,
  databaseUrl: string,
  endpoint: Awaited<ReturnType<typeof startEndpoint>>,
): Promise<readonly PressureFinding[]> {
  const { arrivals } = endpoint
  for (let index = 0; index < destinations; index++) {
    const events = eventsTo(`crm_${index}`, eventsEach, `m_${index}`)
    await store.add({ nowMs: systemClock.nowMs(), seenSinceMs: 0, events, handOver: [] })
  }
  const workers = [
    await startWorker(databaseUrl, endpoint.url),
    await startWorker(databaseUrl, endpoint.url),
  ]
  const [first, second] = workers
  try {
    await sleep(systemClock, 2_000)
    const suspendedAtMs = systemClock.nowMs()
    first!.kill('SIGSTOP')
    await sleep(systemClock, suspendedMs)
    // The resumed process may deliver the rest as well. It only must not use its old leases.
    const continuedAtMs = systemClock.nowMs()
    first!.kill('SIGCONT')
    const elapsedMs = stopwatch()
    while ((await store.ledger()).pending > 0 && elapsedMs() < 60_000) await sleep(systemClock, 200)
    const { delivered, deliveries } = await store.ledger()
    const twice = arrivals.length - new Set(arrivals.map(({ body }) => body)).size
    const ofOther = arrivals.filter(
      ({ process, atMs }) =>
        process === String(second!.pid) && atMs > suspendedAtMs && atMs < continuedAtMs,
    )
    return [
      {
        must: 'everything is delivered, and the ledger agrees',
        measured: `${delivered} of ${deliveries}`,
        holds: delivered === deliveries && deliveries === destinations * eventsEach,
      },
      {
        must: `at most the ${requestsMax} requests that the suspended process had in flight are sent twice`,
        measured: `${twice}`,
        holds: twice <= requestsMax,
      },
      {
        must: 'the other process keeps delivering meanwhile',
        measured: `${ofOther.length} in ${suspendedMs / 1_000} s`,
        holds: ofOther.length > 0,
      },
    ]
  } finally {
    for (const child of workers) {
      child.kill('SIGCONT')
      child.kill('SIGTERM')
      await once(child, 'exit')
    }
  }
}

async function run(): Promise<readonly PressureFinding[]> {
  const endpoint = await startEndpoint()
  const server = await PostgresServer.start()
  const store = await openPostgresStore(server.url(), { leaseMs })
  try {
    return await suspend(store, server.url(), endpoint)
  } finally {
    await store.close()
    endpoint.close()
    await server.end()
  }
}

/** A process that the operating system suspends for longer than its leases last. */
export const scenario: PressureScenario = {
  title: `one of two processes is suspended for ${suspendedMs / 1_000} s; its leases last ${leaseMs / 1_000} s`,
  run,
}
