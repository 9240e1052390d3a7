import { once } from 'node:events'
import { createRuntime, silentObserver } from '../../src/runtime/index.ts'
import { Pipeline } from '../../src/pipeline/index.ts'
import { openStore } from '../../src/store/index.ts'
import { checkDestination } from '../../src/webhook/index.ts'

// Sends one call to the URL on the command line, stops after the first attempt with a grace period of
// an hour, and prints the ledger. It exits when nothing keeps the process alive.
const destination = checkDestination({
  id: 'crm',
  sourceIds: ['website'],
  endpoints: process.argv.slice(2).map((url) => ({ url })),
})
const attempts = new EventTarget()
const pipeline = new Pipeline({
  destinations: [destination],
  store: await openStore('memory:'),
  isStoreOwn: true,
  runtime: createRuntime({
    observer: { ...silentObserver, request: () => attempts.dispatchEvent(new Event('attempt')) },
  }),
})
const attempted = once(attempts, 'attempt')
const call = { type: 'track', userId: 'u_1', event: 'Ping' }
await pipeline.intake.accept({ sourceId: 'website', calls: [call] })
await attempted
await pipeline.stop(3_600_000)
process.stdout.write(JSON.stringify(await pipeline.ledger()))
