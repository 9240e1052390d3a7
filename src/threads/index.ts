/** Calls to objects in other threads: their order, answers, errors and notices, and the end of a thread. */
export * from './answer-calls.ts'
export * from './thread-calls.ts'
export * from './worker-program.ts'
