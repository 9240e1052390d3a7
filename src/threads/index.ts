/** Calls methods of objects in other threads, and handles answers, errors, notices and the end of a thread. */
export * from './answer-calls.ts'
export * from './thread-calls.ts'
export * from './worker-program.ts'
