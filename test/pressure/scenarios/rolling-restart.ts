import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  createRuntime,
  silentLog,
  sleep,
  stopwatch,
  systemClock,
} from '../../../src/runtime/index.ts'
import { Service, type Configuration, type ServiceRole } from '../../../src/service/index.ts'
import { readServiceConfiguration } from '../../../src/service/read-service-configuration.ts'
import { PostgresServer } from '../../support/postgres.ts'
import type { PressureFinding, PressureScenario } from '../scenario.ts'

const postEveryMs = 20
const gapMsMax = 1_500

/** Starts an endpoint that records the longest gap between requests. */
async function startEndpoint() {
  const server = createServer((request, response) => {
    request.resume()
    seen.gapMs = Math.max(seen.gapMs, seen.sinceLastMs())
    seen.sinceLastMs = stopwatch()
    seen.arrivals++
    response.end()
  })
  const seen = { gapMs: 0, arrivals: 0, sinceLastMs: stopwatch() }
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    seen,
    url: `http://127.0.0.1:${port}/`,
    close: () => server.close().closeAllConnections(),
  }
}

async function configurationFor(store: string, url: string): Promise<Configuration> {
  const document = {
    listen: { port: 0 },
    store,
    network: { allow: ['127.0.0.0/8'] },
    sources: [{ id: 'website', writeKeys: ['wk_example'] }],
    destinations: [{ id: 'crm', type: 'Webhooks', sources: ['website'], endpoints: [{ url }] }],
  }
  const options = { env: {}, log: silentLog }
  return (await readServiceConfiguration(document, options)).configuration
}

function start(configuration: Configuration, role: ServiceRole): Promise<Service> {
  return Service.start({ configuration, role, runtime: createRuntime({ log: silentLog }) })
}

async function untilReady({ address }: Service): Promise<void> {
  const elapsedMs = stopwatch()
  while ((await fetch(`${address.url}/readyz`)).status !== 200) {
    if (elapsedMs() > 40_000) throw new Error('A process was not ready within 40 s')
    await sleep(systemClock, 100)
  }
}

/** Posts events until the signal aborts; resolves with the number of accepted ones. */
async function post({ address }: Service, until: AbortSignal): Promise<number> {
  let accepted = 0
  while (await sleep(systemClock, postEveryMs, until)) {
    const { status } = await fetch(`${address.url}/v1/track`, {
      method: 'POST',
      headers: { 'x-write-key': 'wk_example' },
      body: JSON.stringify({ userId: 'u_1', event: 'Ping' }),
    })
    if (status === 200) accepted++
  }
  return accepted
}

/** Replaces two deliverers, each once its successor is ready, while an endpoint gets webhooks. */
async function roll(
  configuration: Configuration,
  { seen }: Awaited<ReturnType<typeof startEndpoint>>,
): Promise<readonly PressureFinding[]> {
  const ingest = await start(configuration, 'ingest')
  const deliverers = [await start(configuration, 'deliver'), await start(configuration, 'deliver')]
  const stopPosting = new AbortController()
  try {
    for (const deliverer of deliverers) await untilReady(deliverer)
    const posting = post(ingest, stopPosting.signal)
    await sleep(systemClock, 1_000)
    seen.gapMs = 0
    for (let round = 0; round < 2; round++) {
      const successor = await start(configuration, 'deliver')
      deliverers.push(successor)
      await untilReady(successor)
      await deliverers.shift()?.close(5_000)
    }
    await sleep(systemClock, 1_000)
    stopPosting.abort()
    const accepted = await posting
    // Some deliveries may wait until the last deliverer has joined.
    const waitedMs = stopwatch()
    while (seen.arrivals < accepted && waitedMs() < 15_000) await sleep(systemClock, 100)
    const { gapMs } = seen
    return [
      {
        must: `no gap in delivery above ${gapMsMax / 1_000} s`,
        measured: `${Math.round(gapMs)} ms`,
        holds: gapMs <= gapMsMax,
      },
      {
        must: 'every event is delivered exactly once',
        measured: `${seen.arrivals} of ${accepted}`,
        holds: seen.arrivals === accepted,
      },
    ]
  } finally {
    stopPosting.abort()
    for (const service of [ingest, ...deliverers]) await service.close()
  }
}

async function run(): Promise<readonly PressureFinding[]> {
  const endpoint = await startEndpoint()
  const server = await PostgresServer.start()
  try {
    return await roll(await configurationFor(server.url(), endpoint.url), endpoint)
  } finally {
    endpoint.close()
    await server.end()
  }
}

/** A deployment that watches only `/readyz`. */
export const scenario: PressureScenario = {
  title:
    'two deliverers are replaced one after the other, each once /readyz of its successor answers 200',
  run,
}
