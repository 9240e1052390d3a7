import { hiddenEndpoint, type Destination, type RequestRecord } from '../model/index.ts'
import { stopwatch, type Runtime } from '../runtime/index.ts'
import {
  isOurs,
  isThrottled,
  judge,
  retryAfterMsOf,
  type RequestOutcome,
} from '../webhook/index.ts'
import type { EndpointGate } from './endpoint-gate.ts'
import type { RetryPolicy } from './retry-policy.ts'
import { settleRound, type EndpointResult, type Round } from './round.ts'
import type { LeasedDelivery, Settlement } from './store-port.ts'

interface AttemptContext {
  readonly runtime: Runtime
  readonly destination: Destination
  readonly gates: readonly EndpointGate[]
  /** Sends the delivery through a gate; never rejects. */
  readonly post: (gate: EndpointGate) => Promise<RequestOutcome>
  readonly policy: RetryPolicy
  /** Called with each request that ends, except a settlement's `firstTry`. Comes before `settled`. */
  readonly ended: (record: RequestRecord) => void
  /** Called with the settlement: on the first success, or once every request has failed. */
  readonly settled: (settlement: Settlement) => void
}

/** A round in progress, to which each request adds its result. */
type OpenRound = Pick<Round, 'delivery' | 'startedAtMs'> & { readonly results: EndpointResult[] }

/**
 * Makes one round: sends a request through every gate at the same time. There must be at least one gate. Resolves once
 * every request has ended, including those that end after the settlement.
 */
export function attempt(delivery: LeasedDelivery, context: AttemptContext): Promise<unknown> {
  const round = { delivery, startedAtMs: context.runtime.clock.nowMs(), results: [] }
  const requests = context.gates.map((gate) => askEndpoint(gate, round, context))
  const [only] = requests
  // Create no extra promise for a single endpoint, which is the usual case.
  return requests.length === 1 && only !== undefined ? only : Promise.all(requests)
}

async function askEndpoint(
  gate: EndpointGate,
  round: OpenRound,
  context: AttemptContext,
): Promise<void> {
  const { delivery } = round
  const { runtime, destination, post, ended, settled } = context
  const { clock, log, observer } = runtime
  const atMs = clock.nowMs()
  const release = clock.hold()
  const elapsedMs = stopwatch()
  const outcome = await post(gate)
  release()
  const { verdict, status, error } = judge(outcome, destination.retryStatuses)
  const { url } = gate.endpoint
  const { destinationId, id, messageId, lane } = delivery
  const durationMs = Math.round(elapsedMs())
  const excerpt = outcome.kind === 'answered' ? outcome.excerpt : ''
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
    durationMs,
    excerpt,
  }
  if (outcome.kind === 'timeout') {
    log.warn('webhook timed out', { code: 'timeout', messageId, url: hiddenEndpoint(url) })
  }
  const result = {
    url,
    verdict,
    error,
    retryAfterMs: retryAfterMsOf(outcome, clock.nowMs()),
    throttled: isThrottled(outcome),
    interrupted: isOurs(outcome),
  }
  const settlement = addResult(result, round, context)
  observer.request(record, settlement?.kind === 'retry' ? settlement.dueAtMs : undefined)
  if (settlement?.kind === 'delivered' && lane === 'first' && settlement.attempts === 1) {
    const firstTry = { url, atMs, status, durationMs, excerpt }
    settled({ kind: 'delivered', delivery, attempts: 1, firstTry })
  } else {
    ended(record)
    if (settlement !== undefined) settled(settlement)
  }
}

/** Adds a result to a round. Returns the settlement if this result decides the round. */
function addResult(
  result: EndpointResult,
  round: OpenRound,
  context: AttemptContext,
): Settlement | undefined {
  const { delivery, startedAtMs, results } = round
  const { destination, gates, policy, runtime } = context
  const isSettled = results.some(({ verdict }) => verdict === 'success')
  results.push(result)
  const isLast = results.length === gates.length
  if (isSettled || (result.verdict !== 'success' && !isLast)) return undefined
  const urls = destination.endpoints.map(({ url }) => url)
  const endedAtMs = runtime.clock.nowMs()
  const ended = { delivery, urls, results, startedAtMs, endedAtMs }
  return settleRound(ended, policy, runtime.random)
}
