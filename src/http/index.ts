/** Plumbing that the rooms which speak HTTP share. */
export * from './address-guard.ts'
export * from './address-ranges.ts'
export * from './answer.ts'
export * from './check-url.ts'
export * from './ip-address.ts'
export { endLingering, lingerMs } from './linger.ts'
export * from './listen.ts'
export {
  bodyDeadlineMs,
  isArriving,
  readBody,
  type BodyLimits,
  type BodyReading,
} from './read-body.ts'
export type { AnswerFault, FaultAnswer, RequestFault } from './request-fault.ts'
export * from './retry-after.ts'
