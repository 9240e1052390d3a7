// Delivers to destinations whose connections need more descriptors than this process may open.
import { DnsServer } from '../support/dns-server.ts'
import { AddressGuard, Names, NameSource } from '../../src/http/index.ts'
import { Pipeline } from '../../src/pipeline/index.ts'
import { createRuntime } from '../../src/runtime/index.ts'
import { openStore } from '../../src/store/index.ts'
import { checkDestination } from '../../src/webhook/index.ts'

const [port = '', count = '', events = ''] = process.argv.slice(2)
const counts = { shortages: 0, breakers: 0, otherFailures: 0, warnings: [] as unknown[] }
const runtime = createRuntime({
  log: {
    debug: () => undefined,
    info: () => undefined,
    warn: (message, fields) => void counts.warnings.push({ message, ...fields }),
  },
  observer: {
    request: ({ error }) => {
      if (error === 'EMFILE') counts.shortages++
      else if (error !== null) counts.otherFailures++
    },
    settled: () => undefined,
    endpoint: () => {
      counts.breakers++
    },
  },
})
const names = Array.from({ length: Number(count) }, (_, index) => `crm${index}.example`)
const dns = await DnsServer.start(Object.fromEntries(names.map((name) => [name, ['127.0.0.1']])))
const source = new NameSource({ servers: [dns.address] })
const { resolve: resolveName } = new Names({ source })
const pipeline = new Pipeline({
  store: await openStore('memory:'),
  guard: new AddressGuard({ allow: ['127.0.0.0/8'], resolveName }),
  destinations: names.map((name) =>
    checkDestination({
      id: name,
      sourceIds: ['website'],
      endpoints: [{ url: `http://${name}:${port}/hook` }],
    }),
  ),
  runtime,
})
pipeline.start()
const calls = Array.from({ length: Number(events) }, () => ({
  type: 'track',
  userId: 'u_1',
  event: 'Ping',
}))
await pipeline.intake.accept({ sourceId: 'website', calls })
await pipeline.idle()
const { delivered, failed, expired, pending } = await pipeline.ledger()
process.stdout.write(JSON.stringify({ ...counts, delivered, failed, expired, pending }))
await pipeline.close()
await dns.close()
