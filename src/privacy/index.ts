/** Deletion requests and whose calls are suppressed. */
export * from './regulation.ts'
export * from './store-port.ts'
