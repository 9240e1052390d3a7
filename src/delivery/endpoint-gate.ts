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
 * Whether a round may ask an endpoint now. `wait`: it is well, but has all the requests that it may
 * have, at once or by its rate; `leave_out`: its breaker or its pace holds it back, and a round goes without it.
 */
export type Access = 'ask' | 'wait' | 'leave_out'

/** A request under way through a gate. */
export interface BegunRequest {
  /** Stands for the request at the breaker; undefined where that had no slot free. */
  readonly ticket: BreakerTicket | undefined
  /** Stands for it at the pace. */
  readonly start: number
}

/** The policies of a gate. */
export type GatePolicies = Pick<QueuePolicies, 'breaker' | 'concurrency' | 'pace'>

/** What every request to one endpoint goes through: its requests at once, its breaker and its pace. */
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
   * Whether this gate can serve an endpoint under a policy. Only its concurrency, its rate and what it has
   * learnt may differ from a new gate.
   */
  isFor(endpoint: Endpoint, policy: BreakerPolicy): boolean {
    return isDeepStrictEqual([unrated(this.endpoint), this.#policy], [unrated(endpoint), policy])
  }

  /**
   * Changes the concurrency, and the requests per second. Requests under way continue. If they exceed the
   * concurrency, none starts until enough have ended.
   */
  resize(concurrency: number, perSecondMax: number = Infinity): void {
    this.#breaker.resize(concurrency)
    this.#pace.limit = perSecondMax
  }

  /** Whether a delivery of a lane may ask it. */
  access(nowMs: number, lane: Lane): Access {
    const isFree = this.#pace.freeAtMs(nowMs) <= nowMs
    if (isFree && this.#breaker.freeSlots(nowMs, lane) > 0) return 'ask'
    if (!isFree && this.#pace.isThrottled(nowMs)) return 'leave_out'
    return this.#breaker.state === 'closed' ? 'wait' : 'leave_out'
  }

  /** When its pace lets the next request start, in milliseconds since 1970; in the past when it does. */
  freeAtMs(nowMs: number): number {
    return this.#pace.freeAtMs(nowMs)
  }

  /** Requests per second that its pace lets start. */
  get perSecond(): number {
    return this.#pace.perSecond
  }

  /** Upper bound of requests per second, which rounds wait for; `Infinity` for none. */
  get limit(): number {
    return this.#pace.limit
  }

  /**
   * When a delivery of a lane may ask it, in milliseconds since 1970; undefined unless it is left alone
   * until then: by its breaker, or because it said so with a 429.
   */
  parkedUntilMs(nowMs: number, lane: Lane): number | undefined {
    const probeAtMs = this.#breaker.probeAtMs(nowMs, lane) ?? nowMs
    const untilMs = Math.max(probeAtMs, this.#pace.heldUntilMs(nowMs) ?? nowMs)
    return untilMs > nowMs ? untilMs : undefined
  }

  /**
   * Since when it takes nothing, in milliseconds since 1970: from the failure that opened its breaker until
   * that is closed again, and from a 429 to the next request that it takes.
   */
  get downSinceMs(): number | undefined {
    return this.#downSinceMs
  }

  /** A request starts. */
  begin(nowMs: number, lane: Lane): BegunRequest {
    return { ticket: this.#breaker.start(nowMs, lane), start: this.#pace.start(nowMs) }
  }

  /** The request ended; tells what that changed at the breaker. */
  end(
    { ticket, start }: BegunRequest,
    outcome: RequestOutcome,
    nowMs: number,
  ): BreakerChange | undefined {
    const health = healthOf(outcome)
    const change = ticket === undefined ? undefined : this.#breaker.end(ticket, health, nowMs)
    if (health === 'success') this.#pace.took(start, nowMs)
    if (health === 'throttled') this.#pace.refused(start, nowMs, retryAfterMsOf(outcome, nowMs))
    if (change?.kind === 'opened' || health === 'throttled') this.#downSinceMs ??= nowMs
    if (health === 'success' && this.#breaker.state === 'closed') this.#downSinceMs = undefined
    return change
  }

  /** Follows what processes tell one another of the endpoint; tells what that changed at the breaker. */
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
