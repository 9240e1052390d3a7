/**
 * Clock, randomness, ids, log and observer: the bundle that every room is given. Also reads references to environment
 * variables and files.
 */
export * from './breather.ts'
export * from './clock.ts'
export * from './coalescing-log.ts'
export * from './gathering.ts'
export * from './log.ts'
export * from './manual-clock.ts'
export * from './observer.ts'
export * from './reference.ts'
export * from './runtime.ts'
export * from './stoppable.ts'
export * from './stopwatch.ts'
export * from './virtual-clock.ts'
export * from './worker-program.ts'
