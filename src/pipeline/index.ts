/** From accepted calls to answered webhooks, in this process. */
export * from './pending-count.ts'
export * from './pipeline.ts'
export type { SendingHindrance } from './process-shares.ts'
