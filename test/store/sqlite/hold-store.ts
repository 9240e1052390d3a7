// Opens the store that it is given, adds a delivery, leases it, and waits to be killed.
import { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts'

const store = await SqliteStore.open(process.argv[2] ?? '')
const nowMs = 0
const deliveries = [{ destinationId: 'crm', body: '{}' }]
await store.add({
  nowMs,
  events: [{ sourceId: 'website', messageId: 'm_held', type: 'track', deliveries }],
})
await store.claim({ nowMs, shares: [{ destinationId: 'crm', deliveriesMax: 1 }] })
process.stdout.write('held\n')
// The store must stay reachable: one that is collected would let go of its lock.
setInterval(() => void store.ledger(), 60_000)
