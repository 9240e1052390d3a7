import type { Lane } from '../model/index.ts'
import { Tally } from './tally.ts'

/** When a breaker opens, and for how long. */
export interface BreakerPolicy {
  /** Number of failures in a row that open the breaker. */
  readonly consecutiveFailures: number
  /** Share of failed requests that opens the breaker, from 0 to 1. */
  readonly failureRate: number
  /** Minimum number of requests in the window before the failure rate counts. */
  readonly requestsMin: number
  /** The period over which the failure rate is computed. */
  readonly windowMs: number
  /** How long the breaker stays open at first. Until it closes again, each reopening doubles the time. */
  readonly openMs: number
  readonly openMsMax: number
  /** Minimum time between the early probes that manual retries may make. */
  readonly earlyProbeEveryMs: number
}

/** The policy of every endpoint. `queuePolicies` shortens the times if the retry window is short. */
export const defaultBreakerPolicy: BreakerPolicy = Object.freeze({
  consecutiveFailures: 10,
  failureRate: 0.7,
  requestsMin: 10,
  windowMs: 30_000,
  openMs: 30_000,
  openMsMax: 5 * 60 * 1_000,
  earlyProbeEveryMs: 10_000,
})

/**
 * The state of a breaker. `closed` admits every request that the concurrency allows. `open` admits none until a
 * probe is due. `half-open` waits for the outcome of that probe. `recovering` admits more requests with every
 * success.
 */
export type BreakerState = 'closed' | 'open' | 'half-open' | 'recovering'

/**
 * What a request shows about its endpoint. `throttled`: the endpoint is up but wants fewer requests. `neutral`:
 * nothing, for example because this process interrupted the request.
 */
export type EndpointHealth = 'success' | 'failure' | 'throttled' | 'neutral'

/** Identifies a request in flight. */
export type BreakerTicket = symbol

/** A change of a breaker's state. The start of a probe isn't reported. */
export type BreakerChange =
  | {
      /** `opened` from `closed`; `reopened` if the probe or the recovery failed. */
      readonly kind: 'opened' | 'reopened'
      /** How long the breaker admits no requests. */
      readonly openMs: number
      /** When a probe may be sent, in milliseconds since 1970. */
      readonly probeAtMs: number
    }
  /** The endpoint answered a request. */
  | { readonly kind: 'recovering' }
  /** The endpoint gets its full concurrency again. */
  | { readonly kind: 'closed' }

/** News from another process that an endpoint is down, or up again. */
export interface SharedBreaker {
  /** How long to send no requests; 0 once the endpoint answers again. */
  readonly openMs: number
  /** How much longer than `openMs` this process waits, so that others can probe first. */
  readonly graceMs: number
  /** The rank of the process that sent the news. If two processes report the same outage, the lower rank wins. */
  readonly rank: number
}

interface OpenPhase {
  readonly kind: 'open'
  readonly probeAtMs: number
  /** The earliest time at which any process may probe the endpoint. This process may have to wait longer. */
  readonly firstProbeAtMs: number
  /** The rank of the process that reported the outage; Infinity if none has reported it yet. */
  readonly rank: number
  /** Maximum wait for a probe, even if the clock is set back. */
  readonly waitMs: number
  /** When a manual retry may probe early. */
  readonly earlyProbeAtMs: number
}

type Phase =
  | OpenPhase
  | { readonly kind: 'closed'; readonly tally: Tally }
  /** `early` is the phase to return to if an early probe fails; undefined for a regular probe. */
  | { readonly kind: 'half-open'; readonly early: OpenPhase | undefined }
  | { readonly kind: 'recovering'; readonly tally: Tally; readonly limit: number }

/**
 * Decides how many requests may be in flight to one endpoint: its full concurrency while it is healthy, one probe at a
 * time while it is down, and gradually more while it recovers.
 *
 * A breaker reads no clock: callers pass `nowMs`, in milliseconds since 1970. If the clock is set back, an open breaker
 * waits at most its full open time from then on.
 *
 * Requests that started before the breaker opened count against the concurrency until they end, but their outcomes are
 * ignored.
 *
 * Manual retries may probe an open breaker early: one at a time, and at intervals, so that many retries can't bypass
 * the breaker. A failed early probe doesn't delay the regular probe.
 */
export class CircuitBreaker {
  readonly #policy: BreakerPolicy
  #concurrency: number
  #phase: Phase
  #nextOpenMs: number
  /** Requests in flight whose outcome counts; while half-open, only the probe. */
  #current = new Set<BreakerTicket>()
  /** Requests in flight that started before the breaker opened. */
  readonly #earlier = new Set<BreakerTicket>()

  /** @param concurrency - maximum number of requests in flight; 0 to admit none for now */
  constructor(policy: BreakerPolicy, concurrency: number) {
    this.#policy = policy
    this.#concurrency = concurrency
    this.#phase = { kind: 'closed', tally: new Tally(policy) }
    this.#nextOpenMs = this.#firstOpenMs()
  }

  /**
   * Changes the concurrency, but not the state. If a recovering breaker has already reached the new concurrency, it
   * closes on the next success.
   */
  resize(concurrency: number): void {
    this.#concurrency = concurrency
  }

  /** The state; `open` until a probe starts, even if one is due. */
  get state(): BreakerState {
    return this.#phase.kind
  }

  /**
   * When a delivery in this lane may probe the endpoint; a time that has passed means now. Undefined if the breaker is
   * closed or recovering, or while a regular probe is in flight.
   */
  probeAtMs(nowMs: number, lane: Lane): number | undefined {
    const phase = this.#phase
    if (phase.kind === 'half-open') return phase.early && probeTime(phase.early, lane)
    return phase.kind === 'open' ? probeTime(this.#seeTime(phase, nowMs), lane) : undefined
  }

  /**
   * Applies news from another process. Returns the change, if any. If this process's last request succeeded, news of an
   * outage opens the breaker only if the next request fails.
   */
  follow({ openMs, graceMs, rank }: SharedBreaker, nowMs: number): BreakerChange | undefined {
    const phase = this.#phase
    if (openMs === 0) return phase.kind === 'open' ? this.#succeeded(nowMs) : undefined
    if (phase.kind === 'half-open') return undefined
    const firstProbeAtMs = nowMs + openMs
    if (phase.kind === 'open') {
      const isSameOutage = firstProbeAtMs - phase.firstProbeAtMs < openMs / 2
      if (isSameOutage && rank > phase.rank) return undefined
    } else if (phase.tally.endedWell(nowMs)) {
      phase.tally.doubt()
      return undefined
    }
    this.#nextOpenMs = Math.min(Math.max(this.#nextOpenMs, 2 * openMs), this.#policy.openMsMax)
    const kind = phase.kind === 'closed' ? 'opened' : 'reopened'
    return this.#stayOpen(kind, { nowMs, waitMs: openMs + graceMs, firstProbeAtMs, rank })
  }

  /** Returns how many more requests for deliveries in this lane may start now. */
  freeSlots(nowMs: number, lane: Lane): number {
    const free = this.#limit(nowMs, lane) - this.#current.size
    const freeOfAll = this.#concurrency - this.#current.size - this.#earlier.size
    return Math.max(Math.min(free, freeOfAll), 0)
  }

  /** Starts a request; as the probe if the breaker is open. Returns its ticket; undefined if no slot is free. */
  start(nowMs: number, lane: Lane): BreakerTicket | undefined {
    if (this.freeSlots(nowMs, lane) === 0) return undefined
    if (this.#phase.kind === 'open') this.#phase = this.#probe(this.#phase, nowMs)
    const ticket = Symbol('request')
    this.#current.add(ticket)
    return ticket
  }

  /** Ends a request, and frees its slot. Returns the change, if any. Idempotent. */
  end(ticket: BreakerTicket, health: EndpointHealth, nowMs: number): BreakerChange | undefined {
    this.#earlier.delete(ticket)
    if (!this.#current.delete(ticket)) return undefined
    switch (health) {
      case 'success':
        return this.#succeeded(nowMs)
      case 'failure':
        return this.#failed(nowMs)
      case 'throttled':
        // A 429 shows that the endpoint is up, which ends an outage. `Pace` lowers the rate.
        return this.#phase.kind === 'half-open' ? this.#succeeded(nowMs) : undefined
      case 'neutral':
        if (this.#phase.kind === 'half-open') {
          // The probe showed nothing, so the next one may start at once.
          const dueNow = { probeAtMs: nowMs, waitMs: 0, earlyProbeAtMs: nowMs }
          const unshared = { firstProbeAtMs: nowMs, rank: Infinity }
          this.#phase = this.#phase.early ?? { kind: 'open', ...dueNow, ...unshared }
        }
        return undefined
    }
  }

  #limit(nowMs: number, lane: Lane): number {
    switch (this.#phase.kind) {
      case 'closed':
        return this.#concurrency
      case 'open':
        return probeTime(this.#seeTime(this.#phase, nowMs), lane) <= nowMs ? 1 : 0
      case 'half-open':
        return 1
      case 'recovering':
        return this.#phase.limit
    }
  }

  /** Shortens waits after the clock was set back. Called often, so it allocates only if something changes. */
  #seeTime(phase: OpenPhase, nowMs: number): OpenPhase {
    const probeAtMs = Math.min(phase.probeAtMs, nowMs + phase.waitMs)
    const earlyProbeAtMs = Math.min(phase.earlyProbeAtMs, nowMs + this.#policy.earlyProbeEveryMs)
    const isSame = probeAtMs === phase.probeAtMs && earlyProbeAtMs === phase.earlyProbeAtMs
    return isSame ? phase : (this.#phase = { ...phase, probeAtMs, earlyProbeAtMs })
  }

  #probe(phase: OpenPhase, nowMs: number): Phase {
    const isEarly = phase.probeAtMs > nowMs
    const earlyProbeAtMs = nowMs + this.#policy.earlyProbeEveryMs
    return { kind: 'half-open', early: isEarly ? { ...phase, earlyProbeAtMs } : undefined }
  }

  #succeeded(nowMs: number): BreakerChange | undefined {
    const phase = this.#phase
    switch (phase.kind) {
      case 'closed':
        phase.tally.count('success', nowMs)
        return undefined
      case 'recovering':
        phase.tally.count('success', nowMs)
        this.#recover(phase.tally, phase.limit + 1)
        return this.state === 'closed' ? { kind: 'closed' } : undefined
      case 'open':
      case 'half-open':
        this.#recover(new Tally(this.#policy), 1)
        return { kind: this.state === 'closed' ? 'closed' : 'recovering' }
    }
  }

  #failed(nowMs: number): BreakerChange | undefined {
    const phase = this.#phase
    switch (phase.kind) {
      case 'closed':
        phase.tally.count('failure', nowMs)
        return phase.tally.isBad() ? this.#open('opened', nowMs) : undefined
      case 'recovering':
        phase.tally.count('failure', nowMs)
        if (phase.tally.isBad()) return this.#open('reopened', nowMs)
        this.#phase = { ...phase, limit: Math.max(Math.floor(phase.limit / 2), 1) }
        return undefined
      case 'half-open':
        if (phase.early === undefined) return this.#open('reopened', nowMs)
        this.#phase = phase.early
        return undefined
      case 'open':
        return undefined
    }
  }

  #open(kind: 'opened' | 'reopened', nowMs: number): BreakerChange {
    const waitMs = this.#nextOpenMs
    this.#nextOpenMs = Math.min(2 * waitMs, this.#policy.openMsMax)
    return this.#stayOpen(kind, { nowMs, waitMs, firstProbeAtMs: nowMs + waitMs, rank: Infinity })
  }

  #stayOpen(
    kind: 'opened' | 'reopened',
    { nowMs, ...outage }: Pick<OpenPhase, 'waitMs' | 'firstProbeAtMs' | 'rank'> & { nowMs: number },
  ): BreakerChange {
    const probeAtMs = nowMs + outage.waitMs
    this.#phase = { kind: 'open', probeAtMs, earlyProbeAtMs: nowMs, ...outage }
    for (const ticket of this.#current) this.#earlier.add(ticket)
    this.#current = new Set()
    return { kind, openMs: outage.waitMs, probeAtMs }
  }

  /** Sets how many requests may be in flight; at the full concurrency, closes the breaker. */
  #recover(tally: Tally, limit: number): void {
    // Stay recovering while the concurrency is 0, because it may be raised later.
    if (limit < this.#concurrency || this.#concurrency === 0) {
      this.#phase = { kind: 'recovering', tally, limit }
    } else {
      this.#phase = { kind: 'closed', tally }
      this.#nextOpenMs = this.#firstOpenMs()
    }
  }

  #firstOpenMs(): number {
    return Math.min(this.#policy.openMs, this.#policy.openMsMax)
  }
}

function probeTime({ probeAtMs, earlyProbeAtMs }: OpenPhase, lane: Lane): number {
  return lane === 'manual' ? Math.min(probeAtMs, earlyProbeAtMs) : probeAtMs
}
