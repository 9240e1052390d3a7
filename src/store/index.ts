/** The engines of the DeliveryStore port, one folder each. */
export { MemoryStore } from './memory/memory-store.ts'
export { openDeliveryLog, openStore } from './open-store.ts'
