/** The storage engines, which implement the ports of deliveries, audiences and regulations. */
export { backUpStore } from './back-up-store.ts'
export { migrateStore, planMigration, type MigrationPlaces } from './migrate-store.ts'
export type { MoveOutcome, MovePlan, MoveProgress } from './migration/move-store.ts'
export type { ComparedFigure } from './migration/moved-tables.ts'
export {
  openDeliveryLog,
  openStore,
  openTemporaryStore,
  type OpenStoreOptions,
} from './open-store.ts'
export { FileLock } from './sqlite/file-lock.ts'
export { MissingStoreError } from './store-errors.ts'
export { maskedStoreUrl, serverUrlRefusal, storeName } from './postgres/connection-url.ts'
export type { Store, StoreLog, TableRows } from './store.ts'
