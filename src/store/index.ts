/** The engines: one folder each for the ports of deliveries, audiences and regulations. */
export { MemoryStore } from './memory/memory-store.ts'
export { openDeliveryLog, openStore, type OpenStoreOptions } from './open-store.ts'
export type { Store, StoreLog } from './store.ts'
