/** How a {@link Pace} chooses the length of a pause after a 429. */
export interface PaceOptions {
  /** Returns a number from 0 up to 1, to lengthen a pause randomly. */
  readonly random: () => number
  /** Maximum length of a pause, even if `Retry-After` asks for more. */
  readonly pauseMsMax: number
}

interface ActiveSecond {
  startMs: number
  started: number
  admitted: number
}

/** Minimum pause after a 429. Doubles with each further 429 in a row, up to `doubledPauseMsMax`. */
const pauseMsFirst = 1_000
const doubledPauseMsMax = 30_000
/** Each pause is randomly lengthened by up to this share, so that processes don't resume all at once. */
const pauseJitter = 0.2
/** A 429 cuts the rate to this share of what the endpoint admitted. */
const keptShareMax = 0.9
/** A 429 leaves at least this share of the rate, because other senders may have caused it. */
const keptShareMin = 0.5
/** After a 429, the rate doubles in this time if requests are sent at the full rate. */
const doublingMs = 12_000
/** How suddenly the rate rises. At 6, a rate cut to 90 % recovers in 9 s, doubles in 12 s and grows 50-fold in 16 s. */
const steepness = 6
/** The rate is learned from this many of the latest seconds with requests. */
const secondsMax = 5
/**
 * Requests at shorter intervals than this may start early, in groups, because timers can be milliseconds late. At
 * longer intervals, no request starts early, because some endpoints check each interval.
 */
const groupMs = 20
/** Minimum learned rate. A slower endpoint can ask for pauses with `Retry-After`. */
const perSecondMin = 0.1
/** Once the learned rate exceeds this, it is unlimited again. */
const perSecondMax = 10_000

/**
 * Spaces the requests to an endpoint evenly, by the operator's {@link limit} and by a rate learned from 429s.
 *
 * The rate is unlimited until the first 429. A 429 pauses the endpoint for the time in `Retry-After`, and cuts the
 * rate to nine tenths of what the endpoint admitted lately. A 429 counts only if its request started after
 * the last 429 that counted.
 *
 * Each admitted request raises the rate along a curve. For about nine seconds, the rate stays below its value before
 * the cut; then it rises fast, to find out how much more the endpoint admits. Without admitted requests, as during an
 * outage, the rate stays the same. With few, it grows slowly.
 *
 * A pace reads no clock: callers pass `nowMs`, in milliseconds since 1970.
 */
export class Pace {
  /** The operator's limit in requests per second; `Infinity` for none. */
  limit = Infinity
  readonly #options: PaceOptions
  #perSecondAtCut = Infinity
  #perSecond = Infinity
  /** The sum of the intervals of all requests admitted since the last cut. The rate grows with it. */
  #grownMs = 0
  #cuts = 0
  /** Number of 429s since the last admitted request. */
  #refusedInRow = 0
  /** When the next request may start if all are spaced evenly. */
  #nextAtMs = 0
  #pause = { untilMs: 0, durationMs: 0 }
  /** The latest seconds with requests, newest last. */
  readonly #seconds: ActiveSecond[] = []

  constructor(options: PaceOptions) {
    this.#options = options
  }

  /** Requests per second that may start; `Infinity` if no limit is known. */
  get perSecond(): number {
    return Math.min(this.#perSecond, this.limit)
  }

  /** Whether 429s make requests slower now than the operator's limit allows. */
  isThrottled(nowMs: number): boolean {
    return this.#perSecond < this.limit || this.pausedUntilMs(nowMs) !== undefined
  }

  /** When the pause after a 429 ends; undefined without a pause. */
  pausedUntilMs(nowMs: number): number | undefined {
    const { untilMs, durationMs } = this.#pause
    // Don't let the pause become longer when the clock is set back.
    if (untilMs > nowMs + durationMs) this.#pause = { untilMs: nowMs + durationMs, durationMs }
    return this.#pause.untilMs > nowMs ? this.#pause.untilMs : undefined
  }

  /** When the next request may start; in the past if it may now. */
  freeAtMs(nowMs: number): number {
    const intervalMs = 1_000 / this.perSecond
    const earlyMs = Math.max(groupMs - intervalMs, 0)
    this.#nextAtMs = Math.min(this.#nextAtMs, nowMs + intervalMs + earlyMs)
    return this.pausedUntilMs(nowMs) ?? this.#nextAtMs - earlyMs
  }

  /** Notes the start of a request. Returns a value to pass to {@link admitted} or {@link refused} when it ends. */
  start(nowMs: number): number {
    // The clock counts whole milliseconds, so a request can start up to 1 ms late. The next one makes up for that.
    this.#nextAtMs = Math.max(this.#nextAtMs, nowMs - 1) + 1_000 / this.perSecond
    this.#secondAt(nowMs).started++
    return this.#cuts
  }

  /** Notes that the endpoint admitted a request: it answered, and neither with a 429 nor with a failure. */
  admitted(cuts: number, nowMs: number): void {
    this.#secondAt(nowMs).admitted++
    if (cuts !== this.#cuts) return
    this.#refusedInRow = 0
    this.#grownMs += 1_000 / this.#perSecond
    this.#perSecond = this.#perSecondAtCut * 2 ** ((this.#grownMs / doublingMs) ** steepness)
    if (this.#perSecond > perSecondMax) this.#restart(Infinity)
  }

  /** Notes a 429. `retryAfterMs` is the pause that the endpoint asked for. */
  refused(cuts: number, nowMs: number, retryAfterMs = 0): void {
    if (cuts !== this.#cuts) return
    this.#cuts++
    // Without an admitted request since the last 429, this one says nothing new about the rate.
    if (this.#refusedInRow === 0) this.#cut()
    const { random, pauseMsMax } = this.#options
    const backoffMs = Math.min(pauseMsFirst * 2 ** this.#refusedInRow++, doubledPauseMsMax)
    const longestMs = pauseMsMax / (1 + pauseJitter)
    const leastMs = Math.min(Math.max(retryAfterMs, backoffMs), longestMs)
    const durationMs = Math.ceil(leastMs * (1 + pauseJitter * random()))
    this.#pause = { untilMs: nowMs + durationMs, durationMs }
  }

  #cut(): void {
    const started = Math.max(...this.#seconds.map((second) => second.started))
    const admitted = Math.max(...this.#seconds.map((second) => second.admitted))
    const used = Math.min(this.#perSecond, started)
    const kept = Math.min(
      Math.max(keptShareMax * admitted, keptShareMin * used),
      keptShareMax * used,
    )
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
    const second = { startMs: nowMs, started: 0, admitted: 0 }
    this.#seconds.push(second)
    if (this.#seconds.length > secondsMax) this.#seconds.shift()
    return second
  }
}
