/** The store port, the dispatcher that empties it, and the policy of trying again. */
export * from './attempt.ts'
export * from './circuit-breaker.ts'
export * from './dispatcher.ts'
export * from './log-port.ts'
export * from './retention.ts'
export * from './retry-policy.ts'
export * from './round.ts'
export * from './store-port.ts'
