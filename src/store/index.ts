/** The engines of the DeliveryStore port, one folder each. */
export { MemoryStore, type MemoryStoreOptions } from './memory/memory-store.ts'
