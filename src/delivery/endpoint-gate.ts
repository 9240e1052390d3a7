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
 * Whether a round may send a request to an endpoint now. `ask`: it may. `wait`: the endpoint is healthy, but its
 * concurrency or its rate is used up. `blocked`: the round goes without the endpoint, because its breaker admits
 * no request or a 429 throttles it.
 */
export type Access = 'ask' | 'wait' | 'blocked'

/** A request in flight through a gate. */
export interface BegunRequest {
  /** The breaker's ticket; undefined if it had no free slot. */
  readonly ticket: BreakerTicket | undefined
  /** How often the pace had been cut when the request started. */
  readonly cuts: number
}

/** The policies that a gate applies. */
export type GatePolicies = Pick<QueuePolicies, 'breaker' | 'concurrency' | 'pace'>

/** Admits requests to one endpoint, by its concurrency, its breaker and its pace. */
export class EndpointGate {
  /** The endpoint. */
  readonly endpoint: Endpoint
  readonly #policy: BreakerPolicy
  readonly #breaker: CircuitBreaker
  readonly #pace: Pace
  #downSinceMs: number | undefined

  constructor(endpoint: Endpoint, { breaker, concurrency, pace }: GatePolicies) {
    this.endpoint = endpoint
    this.#policy = breaker
    this.#breaker = new CircuitBreaker(breaker, concurrency)
    this.#pace = new Pace(pace)
  }

  /**
   * Whether this gate can be kept for an endpoint under a policy: only the rate and the concurrency may differ.
   */
  isFor(endpoint: Endpoint, policy: BreakerPolicy): boolean {
    return isDeepStrictEqual([unrated(this.endpoint), this.#policy], [unrated(endpoint), policy])
  }

  /**
   * Changes the concurrency and the rate. Requests in flight continue. If they exceed the concurrency, none
   * starts until enough of them have ended.
   */
  resize(concurrency: number, perSecondMax: number = Infinity): void {
    this.#breaker.resize(concurrency)
    this.#pace.limit = perSecondMax
  }

  /** Returns whether a delivery of a lane may be sent to the endpoint. */
  access(nowMs: number, lane: Lane): Access {
    const isFree = this.#pace.freeAtMs(nowMs) <= nowMs
    if (isFree && this.#breaker.freeSlots(nowMs, lane) > 0) return 'ask'
    if (!isFree && this.#pace.isThrottled(nowMs)) return 'blocked'
    return this.#breaker.state === 'closed' ? 'wait' : 'blocked'
  }

  /** When the pace lets the next request start, in milliseconds since 1970; in the past if it may now. */
  freeAtMs(nowMs: number): number {
    return this.#pace.freeAtMs(nowMs)
  }

  /** Requests per second that the pace lets start; `Infinity` for no limit. */
  get perSecond(): number {
    return this.#pace.perSecond
  }

  /** The operator's limit in requests per second; `Infinity` for none. Rounds wait until it admits a request. */
  get limit(): number {
    return this.#pace.limit
  }

  /**
   * When a delivery of a lane may be sent to the endpoint, in milliseconds since 1970. Undefined unless its
   * breaker or a 429 blocks it until then.
   */
  parkedUntilMs(nowMs: number, lane: Lane): number | undefined {
    const probeAtMs = this.#breaker.probeAtMs(nowMs, lane) ?? nowMs
    const untilMs = Math.max(probeAtMs, this.#pace.pausedUntilMs(nowMs) ?? nowMs)
    return untilMs > nowMs ? untilMs : undefined
  }

  /**
   * Since when the endpoint has been down, in milliseconds since 1970: from the failure that opened its breaker
   * until the breaker closes, or from a 429 to the next admitted request. Undefined while it is up.
   */
  get downSinceMs(): number | undefined {
    return this.#downSinceMs
  }

  /** Starts a request. */
  begin(nowMs: number, lane: Lane): BegunRequest {
    return { ticket: this.#breaker.start(nowMs, lane), cuts: this.#pace.start(nowMs) }
  }

  /** Ends a request. Returns how the breaker changed; undefined if it did not. */
  end(
    { ticket, cuts }: BegunRequest,
    outcome: RequestOutcome,
    nowMs: number,
  ): BreakerChange | undefined {
    const health = healthOf(outcome)
    const change = ticket === undefined ? undefined : this.#breaker.end(ticket, health, nowMs)
    if (health === 'success') this.#pace.admitted(cuts, nowMs)
    if (health === 'throttled') this.#pace.refused(cuts, nowMs, retryAfterMsOf(outcome, nowMs))
    if (change?.kind === 'opened' || health === 'throttled') this.#downSinceMs ??= nowMs
    if (health === 'success' && this.#breaker.state === 'closed') this.#downSinceMs = undefined
    return change
  }

  /** Applies another process's news about the endpoint. Returns the change of the breaker, if there is one. */
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
 * An endpoint that answers is healthy, even if it refuses a webhook permanently. A request that wasn't sent,
 * because the certificate or the address is not trusted, says nothing about its health.
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
