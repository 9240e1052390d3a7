/** Plumbing that the rooms which speak HTTP share. */
export * from './answer.ts'
export * from './check-url.ts'
export * from './listen.ts'
export * from './retry-after.ts'
