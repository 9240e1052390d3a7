/** Plumbing that the rooms which speak HTTP share. */
export * from './address-guard.ts'
export * from './address-ranges.ts'
export * from './answer.ts'
export * from './check-url.ts'
export * from './ip-address.ts'
export * from './listen.ts'
export * from './retry-after.ts'
