import { isDeepStrictEqual } from 'node:util'
import type { Endpoint, Lane } from '../model/index.ts'
import type { RequestOutcome } from '../webhook/index.ts'
import { judge } from '../webhook/index.ts'
import {
  CircuitBreaker,
  type BreakerChange,
  type BreakerPolicy,
  type BreakerTicket,
  type EndpointHealth,
} from './circuit-breaker.ts'

/**
 * Whether a round may ask an endpoint now. `wait`: it is well, but has all the requests that it may
 * have; `leave_out`: its breaker holds it back, and a round goes without it.
 */
export type Access = 'ask' | 'wait' | 'leave_out'

/** A request under way through a gate. */
export interface Passage {
  /** Stands for the request at the breaker; undefined where that had no slot free. */
  readonly ticket: BreakerTicket | undefined
}

/** What every request to one endpoint goes through: its share of requests at once, and its breaker. */
export class EndpointGate {
  /** The endpoint. */
  readonly endpoint: Endpoint
  readonly #policy: BreakerPolicy
  readonly #breaker: CircuitBreaker
  #downSinceMs: number | undefined

  /** @param concurrency - requests that the endpoint may have in flight; none for now where it is 0 */
  constructor(endpoint: Endpoint, concurrency: number, policy: BreakerPolicy) {
    this.endpoint = endpoint
    this.#policy = policy
    this.#breaker = new CircuitBreaker(policy, concurrency)
  }

  /**
   * Whether it can stand for an endpoint: a new gate would differ in its concurrency only, and in what
   * it has learned.
   */
  isFor(endpoint: Endpoint, policy: BreakerPolicy): boolean {
    return isDeepStrictEqual([this.endpoint, this.#policy], [endpoint, policy])
  }

  /**
   * The endpoint may have so many requests in flight from now on. Those under way go on; where they are
   * more than that, nothing starts until they are fewer.
   */
  resize(concurrency: number): void {
    this.#breaker.resize(concurrency)
  }

  /** Whether a delivery of a lane may ask it. */
  access(nowMs: number, lane: Lane): Access {
    if (this.#breaker.freeSlots(nowMs, lane) > 0) return 'ask'
    return this.#breaker.state === 'closed' ? 'wait' : 'leave_out'
  }

  /**
   * When a delivery of a lane may probe it, in milliseconds since 1970; undefined unless it is left alone
   * until then.
   */
  parkedUntilMs(nowMs: number, lane: Lane): number | undefined {
    const probeAtMs = this.#breaker.probeAtMs(nowMs, lane)
    return probeAtMs !== undefined && probeAtMs > nowMs ? probeAtMs : undefined
  }

  /** Since when it is not well, in milliseconds since 1970: until its breaker closes. */
  get downSinceMs(): number | undefined {
    return this.#downSinceMs
  }

  /** A request starts. */
  begin(nowMs: number, lane: Lane): Passage {
    return { ticket: this.#breaker.start(nowMs, lane) }
  }

  /** The request ended; tells what that changed at the breaker. */
  end(passage: Passage, outcome: RequestOutcome, nowMs: number): BreakerChange | undefined {
    if (passage.ticket === undefined) return undefined
    const change = this.#breaker.end(passage.ticket, healthOf(outcome), nowMs)
    if (change?.kind === 'opened') this.#downSinceMs = nowMs
    if (change?.kind === 'closed') this.#downSinceMs = undefined
    return change
  }
}

/**
 * An endpoint that answers is well, also when it refuses a webhook for good. Where nothing was sent,
 * because its certificate or its address is not trusted, that says nothing of it.
 */
function healthOf(outcome: RequestOutcome): EndpointHealth {
  switch (outcome.kind) {
    case 'interrupted':
    case 'certificate_refused':
    case 'address_refused':
      return 'neutral'
    case 'answered':
    case 'timeout':
    case 'connection_failed':
      return judge(outcome).verdict === 'retry' ? 'failure' : 'success'
  }
}
