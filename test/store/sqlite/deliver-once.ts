// Adds deliveries to a store and closes it. The process ends, so nothing is left open.
import { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts'

const [path = '', ...messageIds] = process.argv.slice(2)
const store = await SqliteStore.open(path)
const deliveries = [{ destinationId: 'crm', body: '{}' }]
const events = messageIds.map((messageId) => {
  return { sourceId: 'website', messageId, type: 'track' as const, userId: null, deliveries }
})
await store.add({ nowMs: 0, seenSinceMs: 0, events, handOver: [] })
await store.close()
