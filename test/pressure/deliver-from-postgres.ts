// Delivers from a database until SIGTERM. A scenario runs several such processes, and suspends one.
import { once } from 'node:events'
import { Dispatcher } from '../../src/delivery/index.ts'
import { createRuntime, silentLog } from '../../src/runtime/index.ts'
import { openPostgresStore } from '../../src/store/postgres/postgres-store.ts'
import { checkDestination, WebhookSender } from '../../src/webhook/index.ts'

const [databaseUrl = '', endpointUrl = '', leaseMs = '', destinations = ''] = process.argv.slice(2)
const wakeEveryMs = 500

const store = await openPostgresStore(databaseUrl, { leaseMs: Number(leaseMs) })
const targets = Array.from({ length: Number(destinations) }, (_, index) => {
  const endpoints = [{ url: `${endpointUrl}?process=${process.pid}` }]
  const destination = checkDestination({ id: `crm_${index}`, sourceIds: ['website'], endpoints })
  return { destination, sender: new WebhookSender({ destination }) }
})
const dispatcher = new Dispatcher({
  store,
  targets,
  runtime: createRuntime({ log: silentLog }),
  requestsMax: 32,
})
const waking = setInterval(() => dispatcher.wake(), wakeEveryMs)
dispatcher.wake()
process.stdout.write('ready\n')
await once(process, 'SIGTERM')
clearInterval(waking)
await dispatcher.stop()
for (const { sender } of targets) await sender.close()
await store.close()
