/** The store port, the dispatcher that empties it, and the policy of trying again. */
export * from './attempt.ts'
export * from './dispatcher.ts'
export * from './retry-policy.ts'
export * from './log-port.ts'
export * from './store-port.ts'
