import { parseRetryAfter } from '../http/index.ts'
import type { Destination, Endpoint, RequestRecord } from '../model/index.ts'
import { stopwatch, type Runtime } from '../runtime/index.ts'
import { judge, type Judgement, type RequestOutcome } from '../webhook/index.ts'
import { nextAttemptAtMs, type RetryPolicy } from './retry-policy.ts'
import type { LeasedDelivery, Settlement } from './store-port.ts'

/** Sends one body to one endpoint; never throws. */
export type PostWebhook = (endpoint: Endpoint, body: string) => Promise<RequestOutcome>

/** What a round needs. */
export interface AttemptContext {
  /** Clock, randomness and observer. */
  readonly runtime: Runtime
  /** Where the delivery goes. */
  readonly destination: Destination
  /** Sends one request. */
  readonly post: PostWebhook
  /** When to try again. */
  readonly policy: RetryPolicy
}

/** One endpoint's part in a round. */
interface EndpointResult extends Judgement {
  readonly record: RequestRecord
  readonly retryAfterMs: number | undefined
  readonly interrupted: boolean
}

/**
 * Makes one round: asks every endpoint that has not failed for good, all at once. One success settles
 * the delivery and no other endpoint is asked again.
 */
export async function attempt(
  delivery: LeasedDelivery,
  context: AttemptContext,
): Promise<Settlement> {
  const { destination, runtime } = context
  const startedAtMs = runtime.clock.nowMs()
  const endpoints = destination.endpoints.filter(({ url }) => !delivery.refusedUrls.includes(url))
  const results = await Promise.all(
    endpoints.map((endpoint) => askEndpoint(endpoint, delivery, context)),
  )
  return settlement({ delivery, results, startedAtMs }, context)
}

async function askEndpoint(
  endpoint: Endpoint,
  delivery: LeasedDelivery,
  { runtime, post }: AttemptContext,
): Promise<EndpointResult> {
  const { clock, log, observer } = runtime
  const atMs = clock.nowMs()
  const release = clock.hold()
  const elapsedMs = stopwatch()
  const outcome = await post(endpoint, delivery.body)
  release()
  const judgement = judge(outcome)
  const record: RequestRecord = {
    messageId: delivery.messageId,
    url: endpoint.url,
    attempt: delivery.attempts + 1,
    atMs,
    outcome: judgement.verdict,
    status: judgement.status,
    error: judgement.error,
    durationMs: Math.round(elapsedMs()),
  }
  if (outcome.kind === 'timeout') {
    const { messageId, url } = record
    log.warn('webhook timed out', { code: 'timeout', messageId, url })
  }
  observer.request(record)
  const retryAfter = outcome.kind === 'answered' ? outcome.retryAfter : undefined
  return {
    ...judgement,
    record,
    retryAfterMs: parseRetryAfter(retryAfter, clock.nowMs()),
    interrupted: outcome.kind === 'interrupted',
  }
}

/**
 * Decides what a round's results mean for its delivery.
 *
 * The next round is due when the first of the endpoints may be asked again: each at its time in the
 * schedule or after its own `Retry-After`, whichever is later. It asks all that have not failed for
 * good, an endpoint that wanted to be left alone for longer among them: one that is ready must not
 * wait for one that is not. The delivery expires only when no endpoint's time is in the window.
 */
function settlement(
  round: {
    readonly delivery: LeasedDelivery
    readonly results: readonly EndpointResult[]
    readonly startedAtMs: number
  },
  { policy, runtime }: AttemptContext,
): Settlement {
  const { delivery, results, startedAtMs } = round
  const requests = results.map(({ record }) => record)
  if (results.some(({ verdict }) => verdict === 'success')) {
    return { kind: 'delivered', delivery, requests }
  }
  // What our own side cut off is no attempt of the endpoint's: it must not use the window up.
  if (results.some(({ interrupted }) => interrupted)) return { kind: 'returned', delivery }
  const reason = reasonOf(results)
  const retried = results.filter(({ verdict }) => verdict === 'retry')
  if (retried.length === 0) return { kind: 'failed', delivery, reason, requests }
  const firstAttemptAtMs = delivery.firstAttemptAtMs ?? startedAtMs
  // The schedule is one for all, so the shortest wait belongs to the endpoint that is ready first.
  const retryAfters = retried.map(({ retryAfterMs }) => retryAfterMs ?? 0)
  const dueAtMs = nextAttemptAtMs(
    policy,
    {
      attempts: delivery.attempts + 1,
      firstAttemptAtMs,
      endedAtMs: runtime.clock.nowMs(),
      retryAfterMs: Math.min(...retryAfters),
    },
    runtime.random,
  )
  if (dueAtMs === undefined) return { kind: 'expired', delivery, reason, requests }
  const refusedUrls = results
    .filter(({ verdict }) => verdict === 'final')
    .map(({ record }) => record.url)
  return {
    kind: 'retry',
    delivery,
    dueAtMs,
    firstAttemptAtMs,
    refusedUrls: [...delivery.refusedUrls, ...refusedUrls],
    requests,
  }
}

/** What kept the endpoints from taking it, each cause once: `status_404` or `timeout, status_503`. */
function reasonOf(results: readonly EndpointResult[]): string {
  if (results.length === 0) return 'no_endpoint_left'
  return [...new Set(results.map(({ error }) => error))].join(', ')
}
