// Opens a store, adds a delivery, leases it, and waits to be killed.
import { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts'

const store = await SqliteStore.open(process.argv[2] ?? '')
const deliveries = [{ destinationId: 'crm', body: '{}' }]
await store.add({
  nowMs: 0,
  seenSinceMs: 0,
  events: [{ sourceId: 'website', messageId: 'm_held', type: 'track', userId: null, deliveries }],
  handOver: [{ destinationId: 'crm', deliveriesMax: 1 }],
})
process.stdout.write('held\n')
// Keeps the store reachable: garbage collection would release its lock.
setInterval(() => void store.ledger(), 60_000)
