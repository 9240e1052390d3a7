import type { RetryPolicy } from '../../src/delivery/index.ts'
import { limits } from '../../src/model/index.ts'

/** What the deliverer is told to do wrong, so that the test can show that it would notice. */
export type Fault = 'ack-before-commit' | 'leases-never-returned'

/** Every fault there is. */
export const faults: readonly Fault[] = ['ack-before-commit', 'leases-never-returned']

/** Requests in flight at the endpoint at the most. */
export const concurrency = 10

/** Nothing starts while so many settlements are not written yet. */
export const requestsMax = 40

/**
 * Deliveries that were started and are not settled, at the most, at any moment. A round starts only
 * while fewer than `requestsMax` settlements are unwritten and an endpoint has fewer than `concurrency`
 * requests; the one whose end makes room for it may be on its way between the two.
 */
export const unsettledMax: number = requestsMax + concurrency

/** Soon again: what was refused is in the way of nobody for long. */
export const retryPolicy: RetryPolicy = Object.freeze({
  firstDelayMs: 20,
  factor: 2,
  delayMsMax: 200,
  jitter: 0.2,
  windowMs: limits.retryWindowMs,
})
