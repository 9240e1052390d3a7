/** Delivers accepted calls in this process: connects intake, store, dispatcher and senders. */
export * from './adding-bytes.ts'
export * from './pipeline.ts'
export type { TraceRequest } from './targets.ts'
export type { SendingHindrance } from './process-shares.ts'
