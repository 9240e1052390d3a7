import { lanes, type Destination, type Endpoint, type Lane } from '../model/index.ts'
import { EndpointGate } from './endpoint-gate.ts'
import type { QueuePolicies } from './queue-policies.ts'
import { isHeld } from './round.ts'
import type { LeasedDelivery, Settlement } from './store-port.ts'

/** What is to be done with a delivery now. */
export type Start =
  /** A round over these endpoints. */
  | {
      readonly kind: 'round'
      readonly delivery: LeasedDelivery
      readonly gates: readonly EndpointGate[]
    }
  /** Nothing can be asked for it now. */
  | { readonly kind: 'settled'; readonly settlement: Settlement }

/**
 * The deliveries of one destination that are leased but not started, a few of each lane, and the gates
 * to its endpoints. It decides what starts next; it starts nothing itself.
 */
export class DestinationQueue {
  #destination: Destination
  #gates: readonly EndpointGate[] = []
  #concurrency: number
  #retryWindowMs: number
  readonly #waiting: Readonly<Record<Lane, LeasedDelivery[]>> = { manual: [], first: [], retry: [] }
  readonly #promised: Record<Lane, number> = { manual: 0, first: 0, retry: 0 }
  /** How often in a row others went first while something waited there. */
  readonly #passedOver: Record<Lane, number> = { manual: 0, first: 0, retry: 0 }
  /** Since when it is known that nothing may be sent. */
  #mutedSinceMs: number | undefined
  #rounds = 0
  #retryRounds = 0

  constructor(destination: Destination, policies: QueuePolicies) {
    this.#destination = destination
    this.#concurrency = policies.concurrency
    this.#retryWindowMs = policies.retryWindowMs
    this.configure(destination, policies)
  }

  /** Where its deliveries go. */
  get destination(): Destination {
    return this.#destination
  }

  /**
   * Goes on for the same destination with other settings. What is leased stays, and so does the gate of
   * an endpoint for which nothing but the concurrency changes; others begin with a closed breaker.
   *
   * @returns the endpoints whose breaker was not closed, and is now
   */
  configure(destination: Destination, policies: QueuePolicies): readonly Endpoint[] {
    const before = this.#gates
    const { breaker, concurrency, retryWindowMs } = policies
    const { endpoints } = destination
    this.#destination = destination
    this.#concurrency = concurrency
    if (concurrency > 0) this.#mutedSinceMs = undefined
    this.#retryWindowMs = retryWindowMs
    this.#gates = endpoints.map(
      (endpoint) =>
        before.find((gate) => gate.isFor(endpoint, breaker)) ??
        new EndpointGate(endpoint, concurrency, breaker),
    )
    for (const gate of this.#gates) gate.resize(concurrency)
    return endpoints.filter(({ url }, index) => {
      const last = before.find(({ endpoint }) => endpoint.url === url)
      return last?.downSinceMs !== undefined && last !== this.#gates[index]
    })
  }

  /** Whether a gate leads to an endpoint of the destination as it is now. */
  has(gate: EndpointGate): boolean {
    return this.#gates.includes(gate)
  }

  /** Whether something is leased for it that has not started. */
  get hasReady(): boolean {
    return lanes.some((lane) => this.#waiting[lane].length > 0)
  }

  /** Whether nothing is leased for it. */
  get isEmpty(): boolean {
    const promised = lanes.some((lane) => this.#promised[lane] > 0)
    return this.#rounds === 0 && !promised && !this.hasReady
  }

  /**
   * How many more of a lane can be taken: twice what an endpoint takes at once are kept ready, so that
   * it never waits for the store. Zero while half of them are still there, and where nothing may be sent.
   */
  room(lane: Lane): number {
    const concurrency = this.#concurrency
    const taken = this.#waiting[lane].length + this.#promised[lane]
    return taken > concurrency ? 0 : 2 * concurrency - taken
  }

  /** Keeps room for deliveries that are on their way, until {@link take}. */
  promise(lane: Lane, count: number): void {
    this.#promised[lane] += count
  }

  /** Takes leased deliveries of one lane; `promised` is the room that was kept for them. */
  take(lane: Lane, deliveries: readonly LeasedDelivery[], promised: number): void {
    this.#promised[lane] -= promised
    this.#waiting[lane].push(...deliveries)
  }

  /**
   * Lets go of what cannot start for now, so that others see that it waits: of all where nothing may be
   * sent, of all but what a person wants retried while every endpoint is left alone, and of what is more
   * than it would take now: it had a greater part of the concurrency before, and its leases might end
   * before its turn comes.
   */
  giveBackIdle(nowMs: number): readonly LeasedDelivery[] {
    if (this.#concurrency === 0) return this.giveBack('all')
    if (this.parkedUntilMs(nowMs) !== undefined) return this.giveBack('parked')
    return lanes.flatMap((lane) => this.#waiting[lane].splice(2 * this.#concurrency))
  }

  /** Lets go of what has not started, but for what a person wants retried unless `all`. */
  giveBack(which: 'parked' | 'all'): readonly LeasedDelivery[] {
    const given = which === 'all' ? lanes : lanes.filter((lane) => lane !== 'manual')
    return given.flatMap((lane) => this.#waiting[lane].splice(0))
  }

  /**
   * When an endpoint is asked again, in milliseconds since 1970, while the breakers of all of them are
   * open; undefined while one can be asked, or its answer is awaited.
   */
  parkedUntilMs(nowMs: number): number | undefined {
    const times = this.#gates.map((gate) => gate.parkedUntilMs(nowMs))
    return earliest(times)
  }

  /**
   * What is due since then or before has nowhere to go, in milliseconds since 1970: all endpoints are
   * left alone, and were not well for a whole retry window. Undefined while there is hope.
   */
  hopelessSinceMs(nowMs: number): number | undefined {
    if (this.parkedUntilMs(nowMs) === undefined) return undefined
    const windowStartMs = nowMs - this.#retryWindowMs
    const isHopeless = this.#gates.every(({ downSinceMs = nowMs }) => downSinceMs <= windowStartMs)
    return isHopeless ? windowStartMs : undefined
  }

  /**
   * Whether a delivery that can start at a moment is not worth waiting for: for a whole retry window its
   * endpoints were down, or nothing was allowed to be sent; or its time is more than a window away.
   */
  rests(startAtMs: number, nowMs: number): boolean {
    if (this.#concurrency === 0) this.#mutedSinceMs ??= nowMs
    const isMuted = (this.#mutedSinceMs ?? nowMs) < nowMs - this.#retryWindowMs
    const isFarAway = startAtMs > nowMs + this.#retryWindowMs
    return isMuted || isFarAway || this.hopelessSinceMs(nowMs) !== undefined
  }

  /** What starts next; undefined while nothing waits or nothing may start. The caller must do it. */
  next(nowMs: number): Start | undefined {
    for (const lane of this.#laneOrder()) {
      const start = this.#nextOf(lane, nowMs)
      if (start !== undefined) return start
    }
    return undefined
  }

  /** A round that {@link next} gave out is settled. */
  end({ lane }: LeasedDelivery): void {
    this.#rounds--
    if (lane === 'retry') this.#retryRounds--
  }

  #nextOf(lane: Lane, nowMs: number): Start | undefined {
    const waiting = this.#waiting[lane]
    if (waiting.length === 0) return undefined
    // Without an endpoint that may be asked there is no use in looking at one after the other.
    const isOpen = this.#gates.some((gate) => gate.access(nowMs, lane) === 'ask')
    const looked = isOpen ? waiting.length : 1
    for (let place = 0; place < looked; place++) {
      const delivery = waiting[place]
      const start = delivery === undefined ? undefined : this.#startOf(delivery, nowMs)
      if (start === undefined) continue
      waiting.splice(place, 1)
      if (start.kind === 'round') this.#begin(lane)
      return start
    }
    return undefined
  }

  #begin(lane: Lane): void {
    this.#rounds++
    if (lane === 'retry') this.#retryRounds++
    for (const other of lanes) {
      const isPassedOver = other !== lane && this.#waiting[other].length > 0
      this.#passedOver[other] = isPassedOver ? this.#passedOver[other] + 1 : 0
    }
  }

  /**
   * First tries go before retries, and what a person wants before both. Whoever was passed over long
   * enough has a turn, so that nobody starves; and retries leave some places free, which are long in
   * use where an endpoint does not answer.
   */
  #laneOrder(): readonly Lane[] {
    const concurrency = this.#concurrency
    const keptRounds = Math.min(keptRoundsMax, Math.floor(concurrency / 2))
    const isFree = this.#retryRounds < concurrency - keptRounds
    const open = isFree ? lanes : lanesBeforeRetries
    const isLate = (lane: Lane): boolean => this.#passedOver[lane] >= passedOverMax
    if (!open.some(isLate)) return open
    return [...open.filter(isLate), ...open.filter((lane) => !isLate(lane))]
  }

  #startOf(delivery: LeasedDelivery, nowMs: number): Start | undefined {
    const gates = this.#gates.filter(({ endpoint }) => !isHeld(endpoint.url, delivery.holds, nowMs))
    if (gates.length === 0) return { kind: 'settled', settlement: this.#withoutEndpoint(delivery) }
    // A person who retries wants to see it tried, whatever the breaker says.
    const accesses = gates.map((gate) => gate.access(nowMs, delivery.lane))
    if (accesses.includes('wait')) return undefined
    const asked = gates.filter((_, index) => accesses[index] === 'ask')
    if (asked.length > 0) return { kind: 'round', delivery, gates: asked }
    const probeAtMs = earliest(gates.map((gate) => gate.parkedUntilMs(nowMs)))
    if (probeAtMs === undefined || gates.length === this.#gates.length) return undefined
    return { kind: 'settled', settlement: this.#parked(delivery, { nowMs, probeAtMs }) }
  }

  /** Others can be asked for other deliveries, but none of those that are left for this one. */
  #parked(
    delivery: LeasedDelivery,
    { nowMs, probeAtMs }: { readonly nowMs: number; readonly probeAtMs: number },
  ): Settlement {
    const { attempts, firstAttemptAtMs } = delivery
    const isOver = nowMs > (firstAttemptAtMs ?? nowMs) + this.#retryWindowMs
    return isOver
      ? { kind: 'expired', delivery, attempts, reason: breakerOpen }
      : { kind: 'returned', delivery, dueAtMs: probeAtMs }
  }

  /** Every endpoint is held: one of them may be asked later, or none ever. */
  #withoutEndpoint(delivery: LeasedDelivery): Settlement {
    const { attempts, holds } = delivery
    const urls = this.destination.endpoints.map(({ url }) => url)
    const times = holds.filter(({ url }) => urls.includes(url)).map(({ untilMs }) => untilMs)
    const later = times.filter((untilMs) => untilMs !== null)
    if (later.length > 0) return { kind: 'returned', delivery, dueAtMs: Math.min(...later) }
    return { kind: 'failed', delivery, attempts, reason: 'no_endpoint_left' }
  }
}

/** Why a delivery expires whose endpoints were left alone until its window was over. */
export const breakerOpen = 'breaker_open'

const lanesBeforeRetries = lanes.filter((lane) => lane !== 'retry')
/** Rounds at once that retries leave to others. */
const keptRoundsMax = 2
/** How often in a row a lane is passed over before it goes first. */
const passedOverMax = 4

/** The earliest of some moments; undefined unless all of them are known. */
function earliest(times: readonly (number | undefined)[]): number | undefined {
  const known = times.filter((time) => time !== undefined)
  return known.length === times.length ? Math.min(...known) : undefined
}
