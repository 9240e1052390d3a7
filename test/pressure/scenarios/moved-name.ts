import { createServer, type Server } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { AddressGuard, Names, NameSource } from '../../../src/http/index.ts'
import { stopwatch } from '../../../src/runtime/index.ts'
import { checkDestination, WebhookSender } from '../../../src/webhook/index.ts'
import { DnsServer } from '../../support/dns-server.ts'
import type { PressureScenario } from '../scenario.ts'

const ttlSeconds = 2
const secondsMax = 65
const body = '{"version":1,"type":"track","userId":"u_1","event":"Ping"}'

/** Ten connections are always busy, so none of them closes by itself. */
export const scenario: PressureScenario = {
  title: 'a name moves to another address while its connections are busy',
  run: async () => {
    const requests = { before: 0, after: 0 }
    const lastMs = { before: 0, after: 0 }
    const elapsedMs = stopwatch()
    const listen = async (which: 'before' | 'after', address: string, port = 0) => {
      const server = createServer((request, response) => {
        requests[which]++
        lastMs[which] = elapsedMs()
        request.resume()
        response.end()
      }).listen(port, address)
      await once(server, 'listening')
      return server
    }
    const before = await listen('before', '127.0.0.1')
    const { port } = before.address() as AddressInfo
    const after = await listen('after', '127.0.0.2', port)
    await using dns = await DnsServer.start({ 'hooks.example': ['127.0.0.1'] })
    dns.ttl = ttlSeconds
    const { resolve: resolveName } = new Names({
      source: new NameSource({ servers: [dns.address] }),
    })
    const url = `http://hooks.example:${port}/`
    const settings = { id: 'crm', sourceIds: ['website'], endpoints: [{ url }] }
    const destination = checkDestination(settings)
    const guard = new AddressGuard({ allow: ['127.0.0.0/8'], resolveName })
    const sender = new WebhookSender({ destination, guard, random: () => 0.5 })
    let movedAtMs = 0
    const loop = async (index: number): Promise<void> => {
      while (elapsedMs() < secondsMax * 1_000) {
        await sender.post(destination.endpoints[0]!, { body, messageId: `m_${index}` })
        await delay(50)
        if (movedAtMs > 0 && elapsedMs() - lastMs.before > 10_000) return
      }
    }
    const loops = Array.from({ length: 10 }, (_, index) => loop(index))
    await delay(2_000)
    movedAtMs = elapsedMs()
    dns.names.set('hooks.example', ['127.0.0.2'])
    await Promise.all(loops)
    await sender.close()
    await Promise.all([before, after].map(end))
    const staleSeconds = (lastMs.before - movedAtMs) / 1_000
    return [
      {
        must: `no request goes to the old address later than a minute plus the ${ttlSeconds} s of the DNS TTL`,
        measured: `${staleSeconds.toFixed(1)} s, then ${requests.after} requests to the new one`,
        holds: staleSeconds <= 60 + ttlSeconds && requests.after > 0,
      },
    ]
  },
}

async function end(server: Server): Promise<void> {
  server.closeAllConnections()
  server.close()
  await once(server, 'close')
}
