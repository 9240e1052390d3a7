/** Options of a pace. */
export interface PaceOptions {
  /** Spreads the ends of holds, from 0 to 1. */
  readonly random: () => number
  /** Upper bound of every hold, `Retry-After` included. */
  readonly holdMsMax: number
}

/** A second of requests: how many started in it, and how many the endpoint accepted in it. */
interface ActiveSecond {
  startMs: number
  started: number
  taken: number
}

/** The minimum hold after a 429. It doubles with each further one. */
const holdMsFirst = 1_000
/** Upper bound of the doubled hold. */
const doubledHoldMsMax = 30_000
/** A hold is randomly longer by up to this share, so that processes don't come back together. */
const holdJitter = 0.2
/** Upper bound of the share of the rate that remains after a 429. */
const keptShareMax = 0.9
/** Lower bound of that share: the endpoint may be busy with other senders' requests. */
const keptShareMin = 0.5
/** At full pace, the rate doubles within this time after a 429. */
const doublingMs = 12_000
/** How steep the curve is: 90 % become 100 % after 9 s, twice as much after 12 s, 50 times after 16 s. */
const steepness = 6
/** How many seconds the rate is learned from. */
const secondsMax = 5
/**
 * Requests closer together than this may start early, in groups, because timers are milliseconds late. Those
 * further apart never start early, because some endpoints look at each gap.
 */
const groupMs = 20
/** Lower bound of the learned rate. A slower endpoint says so with `Retry-After`. */
const perSecondMin = 0.1
/** Above this rate there is no limit any more. */
const perSecondMax = 10_000

/**
 * Spaces the requests to an endpoint evenly, by the operator's {@link limit} and by a learned rate.
 *
 * The rate is unlimited until the first 429. A 429 holds the endpoint for its `Retry-After`, and cuts the rate
 * to nine tenths of what the endpoint accepted lately. A 429 to a request that started before a cut doesn't cut
 * again.
 *
 * Each accepted request raises the rate along a curve. The rate stays below the previous one for about nine
 * seconds, then rises fast to find out how much more the endpoint takes. Nothing else raises it: it stays as it
 * is through an outage, and grows slowly while it is not the limit.
 *
 * It reads no clock: callers pass `nowMs`, in milliseconds since 1970.
 */
export class Pace {
  readonly #options: PaceOptions
  /** The rate right after the last cut. */
  #perSecondAtCut = Infinity
  #perSecond = Infinity
  #limit = Infinity
  /** Time at full pace since the last cut, which raises the rate. */
  #grownMs = 0
  #cuts = 0
  /** Answers 429 since the last accepted request. */
  #refusedInRow = 0
  /** When the next request would start if all were evenly spaced. */
  #nextAtMs = 0
  #hold = { untilMs: 0, durationMs: 0 }
  /** The newest last. */
  readonly #seconds: ActiveSecond[] = []

  constructor(options: PaceOptions) {
    this.#options = options
  }

  /** Requests per second that may start; `Infinity` if no limit is known. */
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

  /** Whether the endpoint's 429 answers, rather than the limit, hold requests back now. */
  isThrottled(nowMs: number): boolean {
    return this.#perSecond < this.#limit || this.heldUntilMs(nowMs) !== undefined
  }

  /** Until when a 429 holds the endpoint; undefined if none does. */
  heldUntilMs(nowMs: number): number | undefined {
    const { untilMs, durationMs } = this.#hold
    // A clock that was set back must not make the hold longer.
    if (untilMs > nowMs + durationMs) this.#hold = { untilMs: nowMs + durationMs, durationMs }
    return this.#hold.untilMs > nowMs ? this.#hold.untilMs : undefined
  }

  /** When the next request may start; in the past if it may now. */
  freeAtMs(nowMs: number): number {
    const intervalMs = 1_000 / this.perSecond
    const earlyMs = Math.max(groupMs - intervalMs, 0)
    this.#nextAtMs = Math.min(this.#nextAtMs, nowMs + intervalMs + earlyMs)
    return this.heldUntilMs(nowMs) ?? this.#nextAtMs - earlyMs
  }

  /**
   * Notes that a request starts.
   *
   * @returns the value to pass to {@link took} or {@link refused}
   */
  start(nowMs: number): number {
    // Let requests make up for the millisecond that the clock may lose by rounding.
    this.#nextAtMs = Math.max(this.#nextAtMs, nowMs - 1) + 1_000 / this.perSecond
    this.#secondAt(nowMs).started++
    return this.#cuts
  }

  /** Notes that the endpoint accepted a request. */
  took(start: number, nowMs: number): void {
    this.#secondAt(nowMs).taken++
    if (start !== this.#cuts) return
    this.#refusedInRow = 0
    this.#grownMs += 1_000 / this.#perSecond
    this.#perSecond = this.#perSecondAtCut * 2 ** ((this.#grownMs / doublingMs) ** steepness)
    if (this.#perSecond > perSecondMax) this.#restart(Infinity)
  }

  /** Notes a 429. `retryAfterMs` is the pause that the endpoint asked for. */
  refused(start: number, nowMs: number, retryAfterMs = 0): void {
    if (start !== this.#cuts) return
    this.#cuts++
    // If no request was accepted since the last 429, this one says nothing new about the rate.
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
