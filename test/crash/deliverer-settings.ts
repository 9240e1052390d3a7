import type { RetryPolicy } from '../../src/delivery/index.ts'
import { limits } from '../../src/model/index.ts'

/** A fault that the deliverer simulates, to show that the test notices it. */
export type Fault = 'ack-before-commit' | 'leases-never-returned'

export const faults: readonly Fault[] = ['ack-before-commit', 'leases-never-returned']

/** The most requests in flight at the endpoint. */
export const concurrency = 10

/** No round starts while this many settlements are unwritten. */
export const requestsMax = 40

/**
 * The most deliveries that can be started and unsettled at any moment. A round starts only while fewer than
 * `requestsMax` settlements are unwritten and the endpoint has fewer than `concurrency` requests. A round
 * that has just ended may be counted in neither.
 */
export const unsettledMax: number = requestsMax + concurrency

/** Short delays, so that refused messages are retried soon. */
export const retryPolicy: RetryPolicy = Object.freeze({
  firstDelayMs: 20,
  factor: 2,
  delayMsMax: 200,
  jitter: 0.2,
  windowMs: limits.retryWindowMs,
})
