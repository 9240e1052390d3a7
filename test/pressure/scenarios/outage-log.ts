import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { createRuntime, sleep, stopwatch, systemClock } from '../../../src/runtime/index.ts'
import { Service } from '../../../src/service/index.ts'
import { readServiceConfiguration } from '../../../src/service/read-service-configuration.ts'
import { scratchFolder } from '../../support/scratch-folder.ts'
import { dropTable } from '../../support/drop-table.ts'
import type { PressureFinding, PressureScenario } from '../scenario.ts'

const endpointCount = 20
const outageMs = 30_000
/** The interval between events, each of which goes to all endpoints. */
const postEveryMs = 20
/**
 * An endpoint may log that it is down, that its breaker opens and is probed, and that webhooks time out or
 * fail for good.
 */
const linesPerEndpointMax = 8

/** Starts a server that refuses every webhook: it hangs, or answers 503 or 404. */
async function endpointOf(index: number): Promise<Server> {
  const server = createServer((_request, response) => {
    if (index % 3 === 0) return
    response.writeHead(index % 3 === 1 ? 503 : 404).end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return server
}

function urlOf(server: Server, index: number): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/${index}?key=no-secret`
}

async function configurationFor(endpoints: readonly Server[], file: string) {
  const { configuration } = await readServiceConfiguration(
    {
      listen: { port: 0 },
      store: `sqlite:${file}`,
      network: { allow: ['127.0.0.0/8'] },
      sources: [{ id: 'website', writeKeys: ['wk_example'] }],
      destinations: endpoints.map((server, index) => ({
        id: `d_${index}`,
        type: 'Webhooks',
        sources: ['website'],
        endpoints: [{ url: urlOf(server, index) }],
      })),
    },
    { env: {}, log: createRuntime().log },
  )
  return configuration
}

/** Posts events for this long. */
async function postTo(url: string, durationMs: number): Promise<void> {
  const elapsedMs = stopwatch()
  while (elapsedMs() < durationMs) {
    await fetch(`${url}/v1/track`, {
      method: 'POST',
      headers: { 'x-write-key': 'wk_example' },
      body: JSON.stringify({ userId: 'u_1', event: 'Ping' }),
    })
    await sleep(systemClock, postEveryMs)
  }
}

async function run(): Promise<readonly PressureFinding[]> {
  const endpoints = await Promise.all(
    Array.from({ length: endpointCount }, (_, i) => endpointOf(i)),
  )
  await using folder = await scratchFolder()
  const file = join(folder.path, 'store.db')
  const seen = { lines: 0, occurrences: 0, requests: 0 }
  const count = (_message: string, fields: { readonly [name: string]: unknown } = {}): void => {
    const { repeated } = fields
    seen.lines++
    seen.occurrences += typeof repeated === 'number' ? repeated : 1
  }
  const observer = { request: () => seen.requests++, settled: () => 0, endpoint: () => 0 }
  const service = await Service.start({
    configuration: await configurationFor(endpoints, file),
    runtime: createRuntime({ log: { debug: count, info: count, warn: count }, observer }),
  })
  try {
    await postTo(service.address.url, outageMs / 2)
    // From now on, the store accepts no events either.
    await dropTable(file, 'seen')
    await postTo(service.address.url, outageMs / 2)
  } finally {
    await service.close()
    for (const server of endpoints) server.close().closeAllConnections()
  }
  const linesMax = endpointCount * linesPerEndpointMax
  return [
    {
      must: `the log has at most ${linesMax} lines`,
      measured: `${seen.lines} lines for ${seen.occurrences} occurrences and ${seen.requests} requests`,
      holds: seen.lines <= linesMax,
    },
  ]
}

/** 20 endpoints are down while events arrive, and then the store fails, too. */
export const scenario: PressureScenario = {
  title: '20 endpoints hang, answer 503 or 404 for 30 s; the store fails after 15 s',
  run,
}
