/** Options of a pace. */
export interface PaceOptions {
  /** Spreads the ends of holds, from 0 to 1. */
  readonly random: () => number
  /** Upper bound of every hold, `Retry-After` included. */
  readonly holdMsMax: number
}

/** A second in which requests started, and how many the endpoint took of them. */
interface ActiveSecond {
  startMs: number
  started: number
  taken: number
}

/** After a 429 the endpoint is held this long at least, and twice as long for each that follows. */
const holdMsFirst = 1_000
/** Holds do not double beyond this. */
const doubledHoldMsMax = 30_000
/** Holds last up to this share longer, so that processes do not come back together. */
const holdJitter = 0.2
/** The part of the rate that remains after a 429. */
const keptShareMax = 0.9
/** It never leaves less: the endpoint may be busy with somebody else's requests. */
const keptShareMin = 0.5
/** At full pace, the rate doubles within this time after a 429. */
const doublingMs = 12_000
/** How steep the curve is: 90 % become 100 % after 9 s, twice as much after 12 s, 50 times after 16 s. */
const steepness = 6
/** Seconds that the rate is learnt from. */
const secondsMax = 5
/**
 * Requests that are closer together than this may start as early as if they came in groups: timers are
 * late by milliseconds. Those further apart never start early, because some endpoints look at each gap.
 */
const groupMs = 20
/** One request in ten seconds. A slower endpoint says so by `Retry-After`. */
const perSecondMin = 0.1
/** Above this it is no limit any more. */
const perSecondMax = 10_000

/**
 * Spaces the requests to an endpoint evenly: by the {@link limit} that an operator set, and by what it learns.
 *
 * Learns from answers 429 how many requests per second an endpoint takes. Unlimited until the first one.
 *
 * A 429 holds the endpoint for its `Retry-After`, and cuts the rate to nine tenths of what the endpoint
 * took lately. Requests that started before the cut do not cut again. Every request that is taken raises
 * the rate along a curve: it stays below the last rate for about nine seconds, and then finds out quickly
 * how much more the endpoint takes. Nothing else raises it, so it stays as it is through an outage, and
 * grows slowly while it is not the limit.
 *
 * It has no clock: every `nowMs` is in milliseconds since 1970.
 */
export class Pace {
  readonly #options: PaceOptions
  /** Right after the last cut. */
  #perSecondAtCut = Infinity
  #perSecond = Infinity
  #limit = Infinity
  /** Time at full pace since the last cut. */
  #grownMs = 0
  #cuts = 0
  /** Answers 429 since one was taken. */
  #refusedInRow = 0
  /** When the next request would start if all came evenly. */
  #nextAtMs = 0
  #hold = { untilMs: 0, durationMs: 0 }
  /** The newest last. */
  readonly #seconds: ActiveSecond[] = []

  constructor(options: PaceOptions) {
    this.#options = options
  }

  /** Requests per second that may start; `Infinity` as long as no limit is known. */
  get perSecond(): number {
    return Math.min(this.#perSecond, this.#limit)
  }

  /** Upper bound of the rate, in requests per second; `Infinity` for none. */
  get limit(): number {
    return this.#limit
  }

  set limit(perSecond: number) {
    this.#limit = perSecond
  }

  /** Whether the endpoint's answers hold it back now, rather than the limit. */
  isThrottled(nowMs: number): boolean {
    return this.#perSecond < this.#limit || this.heldUntilMs(nowMs) !== undefined
  }

  /** Until when nothing may start because the endpoint asked for that; undefined unless it did. */
  heldUntilMs(nowMs: number): number | undefined {
    const { untilMs, durationMs } = this.#hold
    // A clock that was set back must not make the hold longer.
    if (untilMs > nowMs + durationMs) this.#hold = { untilMs: nowMs + durationMs, durationMs }
    return this.#hold.untilMs > nowMs ? this.#hold.untilMs : undefined
  }

  /** When the next request may start; in the past when it may now. */
  freeAtMs(nowMs: number): number {
    const intervalMs = 1_000 / this.perSecond
    const earlyMs = Math.max(groupMs - intervalMs, 0)
    this.#nextAtMs = Math.min(this.#nextAtMs, nowMs + intervalMs + earlyMs)
    return this.heldUntilMs(nowMs) ?? this.#nextAtMs - earlyMs
  }

  /**
   * A request starts.
   *
   * @returns what to say when it ends
   */
  start(nowMs: number): number {
    // The clock tells whole milliseconds: what rounding costs may be made up for.
    this.#nextAtMs = Math.max(this.#nextAtMs, nowMs - 1) + 1_000 / this.perSecond
    this.#secondAt(nowMs).started++
    return this.#cuts
  }

  /** The endpoint took a request. */
  took(start: number, nowMs: number): void {
    this.#secondAt(nowMs).taken++
    if (start !== this.#cuts) return
    this.#refusedInRow = 0
    this.#grownMs += 1_000 / this.#perSecond
    this.#perSecond = this.#perSecondAtCut * 2 ** ((this.#grownMs / doublingMs) ** steepness)
    if (this.#perSecond > perSecondMax) this.#restart(Infinity)
  }

  /** The endpoint answered 429 to a request; `retryAfterMs` is how long it wants to be left alone. */
  refused(start: number, nowMs: number, retryAfterMs = 0): void {
    if (start !== this.#cuts) return
    this.#cuts++
    // Without a request that was taken, it says nothing new about the rate.
    if (this.#refusedInRow === 0) this.#cut()
    const { random, holdMsMax } = this.#options
    const backoffMs = Math.min(holdMsFirst * 2 ** this.#refusedInRow++, doubledHoldMsMax)
    const longestMs = holdMsMax / (1 + holdJitter)
    const leastMs = Math.min(Math.max(retryAfterMs, backoffMs), longestMs)
    const durationMs = Math.ceil(leastMs * (1 + holdJitter * random()))
    this.#hold = { untilMs: nowMs + durationMs, durationMs }
  }

  #cut(): void {
    const started = Math.max(...this.#seconds.map((second) => second.started))
    const taken = Math.max(...this.#seconds.map((second) => second.taken))
    const used = Math.min(this.#perSecond, started)
    const kept = Math.min(Math.max(keptShareMax * taken, keptShareMin * used), keptShareMax * used)
    this.#restart(Math.max(kept, perSecondMin))
  }

  #restart(perSecond: number): void {
    this.#perSecondAtCut = perSecond
    this.#perSecond = perSecond
    this.#grownMs = 0
  }

  #secondAt(nowMs: number): ActiveSecond {
    const last = this.#seconds.at(-1)
    if (last !== undefined && nowMs < last.startMs + 1_000) {
      last.startMs = Math.min(last.startMs, nowMs)
      return last
    }
    const second = { startMs: nowMs, started: 0, taken: 0 }
    this.#seconds.push(second)
    if (this.#seconds.length > secondsMax) this.#seconds.shift()
    return second
  }
}
