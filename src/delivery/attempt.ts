import {
  hiddenEndpoint,
  type Destination,
  type Endpoint,
  type RequestRecord,
} from '../model/index.ts'
import { stopwatch, type Runtime } from '../runtime/index.ts'
import {
  isOurs,
  isThrottled,
  judge,
  retryAfterMsOf,
  type RequestOutcome,
} from '../webhook/index.ts'
import type { RetryPolicy } from './retry-policy.ts'
import { settleRound, type EndpointResult, type Round } from './round.ts'
import type { LeasedDelivery, Settlement } from './store-port.ts'

/** Sends one delivery to one endpoint; never throws. */
export type PostDelivery = (endpoint: Endpoint, delivery: LeasedDelivery) => Promise<RequestOutcome>

/** Sends requests to the endpoints of one destination. */
export interface DeliverySender {
  /** Sends one request. */
  readonly post: PostDelivery
}

/** The settings and callbacks of a round. */
export interface AttemptContext {
  /** Clock, randomness and observer. */
  readonly runtime: Runtime
  /** Where the delivery goes. */
  readonly destination: Destination
  /** The endpoints of the destination that get a request in this round. */
  readonly endpoints: readonly Endpoint[]
  /** Sends one request. */
  readonly post: PostDelivery
  /** When to try again. */
  readonly policy: RetryPolicy
  /** Called with every request as it ends, before it settles the round. */
  readonly ended: (record: RequestRecord) => void
}

/** A round in progress. */
export interface Attempt {
  /** The settlement of the delivery. Resolves on the first success, or once every request has failed. */
  readonly settlement: Promise<Settlement>
  /** Resolves once every request has ended, including those that end after the settlement. */
  readonly ended: Promise<unknown>
}

/** Makes one round: sends a request to each given endpoint at the same time. There must be at least one. */
export function attempt(delivery: LeasedDelivery, context: AttemptContext): Attempt {
  const startedAtMs = context.runtime.clock.nowMs()
  const requests = context.endpoints.map((endpoint) => askEndpoint(endpoint, delivery, context))
  return {
    settlement: untilDecided(requests).then((results) =>
      settlementOf({ delivery, results, startedAtMs }, context),
    ),
    ended: allEnded(requests),
  }
}

function settlementOf(
  { delivery, results, startedAtMs }: Pick<Round, 'delivery' | 'results' | 'startedAtMs'>,
  { destination, policy, runtime }: AttemptContext,
): Settlement {
  const urls = destination.endpoints.map(({ url }) => url)
  const endedAtMs = runtime.clock.nowMs()
  const round = { delivery, urls, results, startedAtMs, endedAtMs }
  return settleRound(round, policy, runtime.random)
}

/** Creates no extra promise for a single endpoint, which is the usual case. */
function allEnded(requests: readonly Promise<EndpointResult>[]): Promise<unknown> {
  const [only] = requests
  return requests.length === 1 && only !== undefined ? only : Promise.allSettled(requests)
}

/** Resolves on the first success, with all results so far, or with every result if none succeeds. */
function untilDecided(
  requests: readonly Promise<EndpointResult>[],
): Promise<readonly EndpointResult[]> {
  const [only] = requests
  if (requests.length === 1 && only !== undefined) return only.then((result) => [result])
  return new Promise((resolve, reject) => {
    const results: EndpointResult[] = []
    for (const request of requests) {
      request.then((result) => {
        results.push(result)
        if (result.verdict === 'success' || results.length === requests.length) resolve(results)
      }, reject)
    }
  })
}

async function askEndpoint(
  endpoint: Endpoint,
  delivery: LeasedDelivery,
  { runtime, destination, post, ended }: AttemptContext,
): Promise<EndpointResult> {
  const { clock, log, observer } = runtime
  const atMs = clock.nowMs()
  const release = clock.hold()
  const elapsedMs = stopwatch()
  const outcome = await post(endpoint, delivery)
  release()
  const { verdict, status, error } = judge(outcome, destination.retryStatuses)
  const { url } = endpoint
  const { destinationId, id, messageId, lane } = delivery
  const record: RequestRecord = {
    destinationId,
    deliveryId: id,
    messageId,
    url,
    lane,
    attempt: delivery.attempts + 1,
    atMs,
    outcome: verdict,
    status,
    error,
    durationMs: Math.round(elapsedMs()),
    excerpt: outcome.kind === 'answered' ? outcome.excerpt : '',
  }
  if (outcome.kind === 'timeout') {
    log.warn('webhook timed out', { code: 'timeout', messageId, url: hiddenEndpoint(url) })
  }
  observer.request(record)
  ended(record)
  return {
    url,
    verdict,
    error,
    retryAfterMs: retryAfterMsOf(outcome, clock.nowMs()),
    throttled: isThrottled(outcome),
    interrupted: isOurs(outcome),
  }
}
