import type { Lane } from '../model/index.ts'
import { Tally } from './tally.ts'

/** When an endpoint is left alone, and for how long. */
export interface BreakerPolicy {
  /** Failures in a row that open the breaker. */
  readonly consecutiveFailures: number
  /** Share of failures that opens it, from 0 to 1. */
  readonly failureRate: number
  /** Requests that must have ended within the window before the share counts. */
  readonly requestsMin: number
  /** How far back the share looks. */
  readonly windowMs: number
  /** How long it stays open the first time; each time that follows without closing doubles it. */
  readonly openMs: number
  /** It never stays open longer. */
  readonly openMsMax: number
  /** After an early probe failed, the next one waits this long. */
  readonly earlyProbeEveryMs: number
}

/**
 * 10 failures in a row, or 70 % of at least 10 requests in 30 s; open 30 s, doubled up to 5 min. Retries
 * by hand probe every 10 s.
 */
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
 * Where a breaker stands: `closed` lets everything through, `open` nothing until a probe is due,
 * `half-open` has that probe under way, `recovering` lets more through with every success.
 */
export type BreakerState = 'closed' | 'open' | 'half-open' | 'recovering'

/**
 * How a request ended: `throttled` shows that the endpoint is up but wants fewer requests; `neutral` says
 * nothing about it, our own side cut it off.
 */
export type EndpointHealth = 'success' | 'failure' | 'throttled' | 'neutral'

/** A request under way; stands for that request and no other. */
export type BreakerTicket = symbol

/** The change that the end of a request made. */
export type BreakerChange =
  | {
      /** `opened` out of `closed`; `reopened` when the probe or the recovery failed. */
      readonly kind: 'opened' | 'reopened'
      /** How long nothing is sent. */
      readonly openMs: number
      /** When a probe may go, in milliseconds since 1970. */
      readonly probeAtMs: number
    }
  /** The probe was answered. */
  | { readonly kind: 'recovering' }
  /** The endpoint gets all its concurrency again. */
  | { readonly kind: 'closed' }

/** What a process knows of an endpoint that another one, or itself, found down or up again. */
export interface SharedBreaker {
  /** How long nothing is sent; 0 once the endpoint answers again. */
  readonly openMs: number
  /** How long after that this process leaves the probe to others. */
  readonly graceMs: number
  /** The rank of the process that found it. Of two that find it down at once the lower rank counts. */
  readonly rank: number
}

interface OpenPhase {
  readonly kind: 'open'
  readonly probeAtMs: number
  /** When the first process may probe it. */
  readonly roundAtMs: number
  /** The rank of the process that found it down; Infinity while that was this one, unshared. */
  readonly rank: number
  /** Upper bound of the time until a probe, even if the clock was set. */
  readonly waitMs: number
  /** When a retry by hand may probe it sooner. */
  readonly earlyProbeAtMs: number
}

type Phase =
  | OpenPhase
  | { readonly kind: 'closed'; readonly tally: Tally }
  /** A probe that starts early does not change when the next one is due: it goes back to `open`. */
  | { readonly kind: 'half-open'; readonly early: OpenPhase | undefined }
  | { readonly kind: 'recovering'; readonly tally: Tally; readonly limit: number }

/**
 * Decides how many requests one endpoint may be sent: all its concurrency while it is well, one probe
 * at a time while it is not, and step by step more while it recovers.
 *
 * It has no clock: every `nowMs` is in milliseconds since 1970. A clock that is set back makes an open
 * breaker wait at most its whole time again, counted from the new time; requests in the window keep
 * their distance from one another and the newest counts as just ended.
 *
 * Requests that started before it opened count against the concurrency until they end, and for nothing
 * else: how they end is not looked at.
 *
 * A retry by hand need not wait for the probe: it probes an open breaker early, alone, and at intervals,
 * so that many of them are no way around it. If it fails, the breaker stays open as long as it would have.
 */
export class CircuitBreaker {
  readonly #policy: BreakerPolicy
  #concurrency: number
  #phase: Phase
  #nextOpenMs: number
  /** Requests whose end counts; while half-open, the probe alone. */
  #current = new Set<BreakerTicket>()
  /** Requests that started before it opened. */
  readonly #earlier = new Set<BreakerTicket>()

  /** @param concurrency - requests that the endpoint may have in flight; none for now where it is 0 */
  constructor(policy: BreakerPolicy, concurrency: number) {
    this.#policy = policy
    this.#concurrency = concurrency
    this.#phase = { kind: 'closed', tally: new Tally(policy) }
    this.#nextOpenMs = this.#firstOpenMs()
  }

  /**
   * Changes the concurrency and keeps everything learnt. A recovering breaker goes on step by step. It closes
   * with the next success if it has reached the new concurrency.
   */
  resize(concurrency: number): void {
    this.#concurrency = concurrency
  }

  /** Where it stands; a probe that is due but has not started leaves it `open`. */
  get state(): BreakerState {
    return this.#phase.kind
  }

  /**
   * When a delivery of a lane may probe it, in the past when it may now. Undefined unless it is `open`:
   * it counts as open while an early probe is under way, which others do not wait for.
   */
  probeAtMs(nowMs: number, lane: Lane): number | undefined {
    const phase = this.#phase
    if (phase.kind === 'half-open') return phase.early && probeTime(phase.early, lane)
    return phase.kind === 'open' ? probeTime(this.#seeTime(phase, nowMs), lane) : undefined
  }

  /**
   * Follows what processes tell one another. Own requests count for more: after a success, being told that the
   * endpoint is down only makes the next failure open the breaker.
   *
   * @returns what that changed
   */
  follow({ openMs, graceMs, rank }: SharedBreaker, nowMs: number): BreakerChange | undefined {
    const phase = this.#phase
    if (openMs === 0) return phase.kind === 'open' ? this.#succeeded(nowMs) : undefined
    if (phase.kind === 'half-open') return undefined
    const roundAtMs = nowMs + openMs
    if (phase.kind === 'open') {
      const isSameRound = roundAtMs - phase.roundAtMs < openMs / 2
      if (isSameRound && rank > phase.rank) return undefined
    } else if (phase.tally.endedWell(nowMs)) {
      phase.tally.doubt()
      return undefined
    }
    this.#nextOpenMs = Math.min(Math.max(this.#nextOpenMs, 2 * openMs), this.#policy.openMsMax)
    const kind = phase.kind === 'closed' ? 'opened' : 'reopened'
    return this.#leaveAlone(kind, { nowMs, waitMs: openMs + graceMs, roundAtMs, rank })
  }

  /** How many requests of a lane may start now, beside those that are in flight. */
  freeSlots(nowMs: number, lane: Lane): number {
    const free = this.#limit(nowMs, lane) - this.#current.size
    const freeOfAll = this.#concurrency - this.#current.size - this.#earlier.size
    return Math.max(Math.min(free, freeOfAll), 0)
  }

  /**
   * A request starts; an open breaker takes it as the probe.
   *
   * @returns what to `end` it with; undefined when no slot is free, and then it must not be sent
   */
  start(nowMs: number, lane: Lane): BreakerTicket | undefined {
    if (this.freeSlots(nowMs, lane) === 0) return undefined
    if (this.#phase.kind === 'open') this.#phase = this.#probe(this.#phase, nowMs)
    const ticket = Symbol('request')
    this.#current.add(ticket)
    return ticket
  }

  /**
   * A request ended. Every ticket must be ended, or its slot stays taken; once is enough, a second
   * time changes nothing.
   *
   * @returns what that changed; undefined when it changed nothing worth telling
   */
  end(ticket: BreakerTicket, health: EndpointHealth, nowMs: number): BreakerChange | undefined {
    this.#earlier.delete(ticket)
    if (!this.#current.delete(ticket)) return undefined
    switch (health) {
      case 'success':
        return this.#succeeded(nowMs)
      case 'failure':
        return this.#failed(nowMs)
      case 'throttled':
        // How many it takes is for others to find out; that it is up is enough to end an outage.
        return this.#phase.kind === 'half-open' ? this.#succeeded(nowMs) : undefined
      case 'neutral':
        if (this.#phase.kind === 'half-open') {
          // The probe proved nothing, so the next one need not wait.
          const dueNow = { probeAtMs: nowMs, waitMs: 0, earlyProbeAtMs: nowMs }
          const unshared = { roundAtMs: nowMs, rank: Infinity }
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

  /** Follows a clock that was set back. Passes over destinations ask often, so it seldom makes an object. */
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
    return this.#leaveAlone(kind, { nowMs, waitMs, roundAtMs: nowMs + waitMs, rank: Infinity })
  }

  #leaveAlone(
    kind: 'opened' | 'reopened',
    { nowMs, ...round }: Pick<OpenPhase, 'waitMs' | 'roundAtMs' | 'rank'> & { nowMs: number },
  ): BreakerChange {
    const probeAtMs = nowMs + round.waitMs
    this.#phase = { kind: 'open', probeAtMs, earlyProbeAtMs: nowMs, ...round }
    for (const ticket of this.#current) this.#earlier.add(ticket)
    this.#current = new Set()
    return { kind, openMs: round.waitMs, probeAtMs }
  }

  /** Sets how many requests may be in flight. With the whole concurrency the breaker is closed. */
  #recover(tally: Tally, limit: number): void {
    // Where nothing may be sent, one success must not stand for a whole concurrency to come.
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

/** When a delivery of a lane may probe an open breaker. */
function probeTime({ probeAtMs, earlyProbeAtMs }: OpenPhase, lane: Lane): number {
  return lane === 'manual' ? Math.min(probeAtMs, earlyProbeAtMs) : probeAtMs
}
