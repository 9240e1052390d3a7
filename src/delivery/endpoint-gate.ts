import { isDeepStrictEqual } from 'node:util'
import type { Endpoint, Lane } from '../model/index.ts'
import type { RequestOutcome } from '../webhook/index.ts'
import { isThrottled, judge, retryAfterMsOf } from '../webhook/index.ts'
import {
  CircuitBreaker,
  type BreakerChange,
  type BreakerPolicy,
  type BreakerTicket,
  type EndpointHealth,
  type SharedBreaker,
} from './circuit-breaker.ts'
import { Pace } from './pace.ts'
import type { QueuePolicies } from './queue-policies.ts'

/**
 * Whether a round may send a request to an endpoint now. `ask`: yes. `wait`: the endpoint is healthy, but its
 * concurrency or rate is used up. `blocked`: make the round without it, because its breaker admits no request or a
 * 429 pauses it.
 */
export type Access = 'ask' | 'wait' | 'blocked'

/** A request in flight through a gate. */
export interface BegunRequest {
  /** The breaker's ticket; undefined for a request that started although the breaker had no free slot. */
  readonly ticket: BreakerTicket | undefined
  /** How many times the pace had been cut when the request started. */
  readonly cuts: number
}

type GatePolicies = Pick<QueuePolicies, 'breaker' | 'concurrency' | 'pace'>

/** Admits requests to one endpoint, as far as its concurrency, breaker and pace allow. */
export class EndpointGate {
  readonly endpoint: Endpoint
  readonly pace: Pace
  readonly #policy: BreakerPolicy
  readonly #breaker: CircuitBreaker
  #downSinceMs: number | undefined

  constructor(endpoint: Endpoint, { breaker, concurrency, pace }: GatePolicies) {
    this.endpoint = endpoint
    this.#policy = breaker
    this.#breaker = new CircuitBreaker(breaker, concurrency)
    this.pace = new Pace(pace)
  }

  /** Whether this gate can be kept for changed settings: only the rate and the concurrency may differ. */
  isFor(endpoint: Endpoint, policy: BreakerPolicy): boolean {
    return isDeepStrictEqual([unrated(this.endpoint), this.#policy], [unrated(endpoint), policy])
  }

  /** Changes the concurrency and the rate. Requests in flight continue, even if they exceed the new concurrency. */
  resize(concurrency: number, perSecondMax: number = Infinity): void {
    this.#breaker.resize(concurrency)
    this.pace.limit = perSecondMax
  }

  access(nowMs: number, lane: Lane): Access {
    const isFree = this.pace.freeAtMs(nowMs) <= nowMs
    if (isFree && this.#breaker.freeSlots(nowMs, lane) > 0) return 'ask'
    if (!isFree && this.pace.isThrottled(nowMs)) return 'blocked'
    return this.#breaker.state === 'closed' ? 'wait' : 'blocked'
  }

  /**
   * When a delivery from this lane may be sent to the endpoint, in milliseconds since 1970. Undefined unless the
   * breaker or a 429 blocks the endpoint.
   */
  parkedUntilMs(nowMs: number, lane: Lane): number | undefined {
    const probeAtMs = this.#breaker.probeAtMs(nowMs, lane) ?? nowMs
    const untilMs = Math.max(probeAtMs, this.pace.pausedUntilMs(nowMs) ?? nowMs)
    return untilMs > nowMs ? untilMs : undefined
  }

  /** Whether the endpoint gets no more than a probe, because its breaker is open or a 429 pauses it. */
  isOut(nowMs: number): boolean {
    const { state } = this.#breaker
    const isPaused = this.pace.pausedUntilMs(nowMs) !== undefined
    return state === 'open' || state === 'half-open' || isPaused
  }

  /**
   * When the endpoint went down, in milliseconds since 1970; undefined while it is up. It goes down when its breaker
   * opens or it answers 429. It is up again once a request succeeds and the breaker is closed.
   */
  get downSinceMs(): number | undefined {
    return this.#downSinceMs
  }

  /** Starts a request. Call it only if {@link access} returned `ask`. */
  begin(nowMs: number, lane: Lane): BegunRequest {
    return { ticket: this.#breaker.start(nowMs, lane), cuts: this.pace.start(nowMs) }
  }

  /** Ends a request. Returns the change of the breaker, if any. */
  end(
    { ticket, cuts }: BegunRequest,
    outcome: RequestOutcome,
    nowMs: number,
  ): BreakerChange | undefined {
    const health = healthOf(outcome)
    const change = ticket === undefined ? undefined : this.#breaker.end(ticket, health, nowMs)
    if (health === 'success') this.pace.admitted(cuts, nowMs)
    if (health === 'throttled') this.pace.refused(cuts, nowMs, retryAfterMsOf(outcome, nowMs))
    if (change?.kind === 'opened' || health === 'throttled') this.#downSinceMs ??= nowMs
    if (health === 'success' && this.#breaker.state === 'closed') this.#downSinceMs = undefined
    return change
  }

  /** Applies news about the endpoint from another process. Returns the change of the breaker, if any. */
  follow(shared: SharedBreaker, nowMs: number): BreakerChange | undefined {
    const change = this.#breaker.follow(shared, nowMs)
    if (change?.kind === 'opened') this.#downSinceMs ??= nowMs
    if (change?.kind === 'closed') this.#downSinceMs = undefined
    return change
  }
}

function unrated(endpoint: Endpoint): Endpoint {
  return { ...endpoint, rate: undefined }
}

/**
 * An endpoint that answers is healthy, even if it refuses a webhook permanently. A request that wasn't sent, because
 * the certificate or the address isn't trusted, says nothing about the endpoint's health.
 */
function healthOf(outcome: RequestOutcome): EndpointHealth {
  switch (outcome.kind) {
    case 'interrupted':
    case 'shortage':
    case 'certificate_refused':
    case 'address_refused':
      return 'neutral'
    case 'answered':
    case 'timeout':
    case 'connection_failed':
      if (isThrottled(outcome)) return 'throttled'
      return judge(outcome).verdict === 'retry' ? 'failure' : 'success'
  }
}
