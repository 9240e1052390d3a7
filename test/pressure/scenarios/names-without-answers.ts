import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { AddressGuard, Names, NameSource } from '../../../src/http/index.ts'
import { Pipeline } from '../../../src/pipeline/index.ts'
import { createRuntime, stopwatch } from '../../../src/runtime/index.ts'
import { openStore } from '../../../src/store/index.ts'
import { checkDestination } from '../../../src/webhook/index.ts'
import { DnsServer } from '../../support/dns-server.ts'
import { p99 } from '../p99.ts'
import type { PressureScenario } from '../scenario.ts'

const deadCount = 40
const eventsPerSecond = 10
const seconds = 15

/** Every request to the healthy destination needs a new connection, and so a DNS look-up. */
export const scenario: PressureScenario = {
  title: `${deadCount} destinations whose DNS look-ups get no answer, beside a healthy one`,
  run: async () => {
    const quietMs = await latenciesMs(0)
    const underPressureMs = await latenciesMs(deadCount)
    const expected = eventsPerSecond * seconds
    return [
      {
        must: 'every event reaches the healthy destination',
        measured: `${underPressureMs.length} of ${expected}`,
        holds: underPressureMs.length === expected,
      },
      {
        must: 'its p99 is at most 1 s, because look-ups without an answer give way to others',
        measured: `${p99(underPressureMs)} ms, ${p99(quietMs)} ms without the others`,
        holds: p99(underPressureMs) <= 1_000,
      },
    ]
  },
}

async function latenciesMs(deadDestinations: number): Promise<readonly number[]> {
  const elapsedMs = stopwatch()
  const latencies: number[] = []
  const server = createServer((request, response) => {
    let text = ''
    request.on('data', (chunk: Buffer) => (text += chunk.toString()))
    request.on('end', () => {
      const { properties } = JSON.parse(text) as { properties: { sentAtMs: number } }
      latencies.push(elapsedMs() - properties.sentAtMs)
      response.writeHead(200, { connection: 'close' }).end()
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const deadNames = Array.from({ length: deadDestinations }, (_, index) => `dead${index}.example`)
  const dns = await DnsServer.start({ 'healthy.example': ['127.0.0.1'] })
  for (const name of deadNames) dns.names.set(name, 'silent')
  dns.ttl = 0
  const { resolve: resolveName } = new Names({
    source: new NameSource({ servers: [dns.address] }),
  })
  const destinations = ['healthy.example', ...deadNames].map((name) =>
    checkDestination({
      id: name,
      sourceIds: ['website'],
      endpoints: [{ url: `http://${name}:${port}/` }],
    }),
  )
  const guard = new AddressGuard({ allow: ['127.0.0.0/8'], resolveName })
  const store = await openStore('memory:')
  const pipeline = new Pipeline({ store, destinations, guard, runtime: createRuntime() })
  pipeline.start()
  try {
    for (let count = 0; count < eventsPerSecond * seconds; count++) {
      const properties = { sentAtMs: elapsedMs() }
      const call = { type: 'track', userId: 'u_1', event: 'Ping', properties }
      await pipeline.intake.accept({ sourceId: 'website', calls: [call] })
      await delay(1_000 / eventsPerSecond)
    }
    await delay(2_000)
  } finally {
    await pipeline.close()
    server.closeAllConnections()
    server.close()
    await dns.close()
  }
  return latencies
}
