import type { RequestVerdict } from '../model/index.ts'
import { nextAttemptAtMs, type RetryPolicy } from './retry-policy.ts'
import type { EndpointHold, LeasedDelivery, Settlement } from './store-port.ts'

/** The result of a round at one endpoint. */
export interface EndpointResult {
  readonly url: string
  readonly verdict: RequestVerdict
  readonly error: string | null
  /** The pause that the endpoint asked for; undefined if it asked for none. */
  readonly retryAfterMs: number | undefined
  /** Whether the endpoint answered 429, which is no failure. */
  readonly throttled: boolean
  /** Whether this process or machine made the request fail, which says nothing about the endpoint. */
  readonly interrupted: boolean
}

/**
 * A round of requests for a delivery, one per endpoint, once its outcome is certain: one of them has succeeded, or all
 * have ended.
 */
export interface Round {
  readonly delivery: LeasedDelivery
  /** The URLs of all endpoints of the destination, including those that got no request. */
  readonly urls: readonly string[]
  /** The results so far, one per endpoint that got a request. */
  readonly results: readonly EndpointResult[]
  readonly startedAtMs: number
  /** When the outcome became certain, in milliseconds since 1970. */
  readonly endedAtMs: number
}

/** Whether a hold excludes an endpoint at this time. */
export function isHeld(url: string, holds: readonly EndpointHold[], nowMs: number): boolean {
  const hold = holds.find((candidate) => candidate.url === url)
  return hold !== undefined && (hold.untilMs === null || hold.untilMs > nowMs)
}

/**
 * Decides how a round settles its delivery.
 *
 * An endpoint may get a request again at the scheduled time or after its `Retry-After`, whichever is later. The next
 * round is due at the earliest of these times. An endpoint with a later time gets a hold until its own time, so that it
 * doesn't delay the others. The delivery expires only if every endpoint's time is after the window.
 *
 * A 429 does not use up a step of the schedule. The delivery is due again after the `Retry-After`, or at once if the
 * answer has no `Retry-After`. From then on, it waits for the endpoint's pace, behind deliveries that wait already. A
 * request that this process interrupted is treated in the same way.
 */
export function settleRound(round: Round, policy: RetryPolicy, random: () => number): Settlement {
  const { delivery, urls, results, startedAtMs, endedAtMs } = round
  const attempts = delivery.attempts + 1
  if (results.some(({ verdict }) => verdict === 'success')) {
    return { kind: 'delivered', delivery, attempts }
  }
  const counted = results.filter(({ interrupted }) => !interrupted)
  // If this process interrupted all requests, the round doesn't count as an attempt, and begins no retry window.
  if (counted.length === 0) return { kind: 'returned', delivery, dueAtMs: delivery.dueAtMs }
  // Names each error once, as in `timeout, status_503`.
  const reason = [...new Set(counted.map(({ error }) => error))].join(', ')
  const refused = refusedUrls(round)
  const candidates = urls.filter((url) => !refused.has(url))
  if (candidates.length === 0) return { kind: 'failed', delivery, attempts, reason }

  const hasFailed = results.some(
    (result) => result.verdict === 'retry' && !isFreeOfSchedule(result),
  )
  const isStep = hasFailed || !results.some(isFreeOfSchedule)
  const windowAttempts = delivery.windowAttempts + (isStep ? 1 : 0)
  const firstAttemptAtMs = delivery.firstAttemptAtMs ?? startedAtMs
  const failed = { attempts: Math.max(windowAttempts, 1), endedAtMs }
  const scheduledAtMs = nextAttemptAtMs(policy, failed, random)
  const times = candidates.map((url) => {
    const result = results.find((candidate) => candidate.url === url)
    const pauseMs = Math.min(result?.retryAfterMs ?? 0, policy.delayMsMax)
    const saidAtMs = result === undefined ? heldUntilMs(url, delivery) : endedAtMs + pauseMs
    const isFree = result !== undefined && isFreeOfSchedule(result)
    return { url, atMs: isFree ? saidAtMs : Math.max(scheduledAtMs, saidAtMs) }
  })
  const dueAtMs = Math.min(...times.map(({ atMs }) => atMs))
  const expiresAtMs = firstAttemptAtMs + policy.windowMs
  if (dueAtMs > expiresAtMs) return { kind: 'expired', delivery, attempts, reason }
  const holds = [
    ...[...refused].map((url) => ({ url, untilMs: null })),
    ...times.filter(({ atMs }) => atMs > dueAtMs).map(({ url, atMs }) => ({ url, untilMs: atMs })),
  ]
  const progress = { attempts, windowAttempts, firstAttemptAtMs, holds }
  return { kind: 'retry', delivery, dueAtMs, expiresAtMs, progress, reason }
}

/** Returns the endpoints that refused the delivery permanently, in this round or before. */
function refusedUrls({ delivery, results }: Round): ReadonlySet<string> {
  const before = delivery.holds.filter(({ untilMs }) => untilMs === null)
  const now = results.filter(({ verdict }) => verdict === 'final')
  return new Set([...before, ...now].map(({ url }) => url))
}

/** Returns when an endpoint's hold on a delivery ends, in milliseconds since 1970; 0 for a permanent hold or none. */
function heldUntilMs(url: string, { holds }: LeasedDelivery): number {
  return holds.find((hold) => hold.url === url)?.untilMs ?? 0
}

/** Whether a failed request uses up no step of the retry schedule. If so, the schedule doesn't delay its endpoint. */
function isFreeOfSchedule({ throttled, interrupted }: EndpointResult): boolean {
  return throttled || interrupted
}
