import {
  hiddenEndpoint,
  lanes,
  parseRate,
  type Destination,
  type Endpoint,
  type GivenUpReason,
  type Lane,
} from '../model/index.ts'
import { EndpointGate } from './endpoint-gate.ts'
import type { Prefetch } from './prefetch.ts'
import type { QueuePolicies } from './queue-policies.ts'
import { isWindowOver } from './retry-policy.ts'
import { isHeld } from './round.ts'
import { SourceBacklog } from './source-backlog.ts'
import type { LeasedDelivery, Settlement } from './store-port.ts'

/** Where a delivery enters the queue: in its lane, or ahead of deliveries that are waiting in the store. */
export type Line = Lane | 'ahead'

/** The next step for a delivery. */
export type Start =
  /** Send the delivery through these gates. */
  | {
      readonly kind: 'round'
      readonly delivery: LeasedDelivery
      readonly gates: readonly EndpointGate[]
    }
  /** Settle the delivery without sending a request. */
  | { readonly kind: 'settled'; readonly settlement: Settlement }

/**
 * Keeps the ready deliveries of one destination by lane, and the gates to its endpoints. Ready deliveries are leased,
 * but have not started. Decides which one starts next; the caller starts it.
 */
export class DestinationQueue {
  #destination: Destination
  #gates: readonly EndpointGate[] = []
  #policies: QueuePolicies
  readonly #waiting: Readonly<Record<Lane, LeasedDelivery[]>> = { first: [], manual: [], retry: [] }
  /** Deliveries in the lane `first` that went ahead of deliveries waiting in the store. */
  readonly #ahead = new Set<LeasedDelivery>()
  readonly #reserved: Record<Line, number> = { first: 0, manual: 0, retry: 0, ahead: 0 }
  /** How many times in a row a lane had a ready delivery, but another lane went first. */
  readonly #passedOver: Record<Lane, number> = { first: 0, manual: 0, retry: 0 }
  /** When the queue noticed that its concurrency is 0. */
  #withoutShareSinceMs: number | undefined
  readonly #prefetch: Prefetch
  /** How many deliveries from each source wait in the store, if the destination has several sources. */
  readonly backlog = new SourceBacklog()
  #rounds = 0
  /** How many of the `#rounds` are retries. */
  #laterRounds = 0

  constructor(destination: Destination, policies: QueuePolicies, prefetch: Prefetch) {
    this.#prefetch = prefetch
    this.#destination = destination
    this.#policies = policies
    this.configure(destination, policies)
  }

  get destination(): Destination {
    return this.#destination
  }

  /**
   * Applies new settings for the same destination, and keeps the ready deliveries. An endpoint keeps its gate if only
   * the concurrency or the rate changes. Otherwise it gets a new one, with a closed breaker.
   *
   * @returns the endpoints that were down and got a new gate
   */
  configure(destination: Destination, policies: QueuePolicies): readonly Endpoint[] {
    const before = this.#gates
    const { breaker, concurrency, rateShare } = policies
    const { endpoints } = destination
    this.#destination = destination
    this.#policies = policies
    if (concurrency > 0) this.#withoutShareSinceMs = undefined
    this.#gates = endpoints.map(
      (endpoint) =>
        before.find((gate) => gate.isFor(endpoint, breaker)) ??
        new EndpointGate(endpoint, policies),
    )
    for (const [index, gate] of this.#gates.entries()) {
      const perSecond = parseRate(endpoints[index]?.rate ?? '') ?? Infinity
      gate.resize(concurrency, perSecond * rateShare)
    }
    return endpoints.filter(({ url }, index) => {
      const last = before.find(({ endpoint }) => endpoint.url === url)
      return last?.downSinceMs !== undefined && last !== this.#gates[index]
    })
  }

  /** Finds the gate to an endpoint. `endpoint` is the URL as shortened by `hiddenEndpoint`. */
  gateOf(endpoint: string): EndpointGate | undefined {
    return this.#gates.find((gate) => hiddenEndpoint(gate.endpoint.url) === endpoint)
  }

  /** Whether a gate leads to an endpoint that the destination still has. */
  has(gate: EndpointGate): boolean {
    return this.#gates.includes(gate)
  }

  get hasReady(): boolean {
    return lanes.some((lane) => this.#waiting[lane].length > 0)
  }

  /** Whether no delivery is ready, on its way from the store, or being sent. */
  get isEmpty(): boolean {
    const hasReserved = Object.values(this.#reserved).some((count) => count > 0)
    return this.#rounds === 0 && !hasReserved && !this.hasReady
  }

  /**
   * Returns how many more deliveries of a lane the queue can take. 0 while the lane is parked, the concurrency is 0, or
   * more than half of the allowed number is ready or reserved.
   *
   * @param most - limit on the ready deliveries in the lane; none by default
   */
  room(lane: Lane, nowMs: number, most: number = Infinity): number {
    const readyMax = Math.min(this.#readyMax(lane, nowMs), most)
    const passed = lane === 'first' ? this.#ahead.size : 0
    const taken = this.#waiting[lane].length - passed + this.#reserved[lane]
    return taken > readyMax / 2 ? 0 : readyMax - taken
  }

  /** Returns how many more new deliveries may go ahead of those waiting in the store. */
  roomAhead(nowMs: number): number {
    const readyMax = this.#readyMax('first', nowMs)
    const isBlocked = readyMax === 0 || this.#isOut(nowMs)
    const most = isBlocked ? readyMax : Math.max(readyMax, aheadMin)
    return Math.max(most - this.#ahead.size - this.#reserved.ahead, 0)
  }

  /**
   * Returns how many deliveries of a lane may be ready: 0 while the lane is parked, 1 while every endpoint gets at most
   * a probe. Otherwise, twice the concurrency, so that no endpoint waits for the store. `readyMin` can raise this
   * number. The pace limits it to what may start in a second.
   */
  #readyMax(lane: Lane, nowMs: number): number {
    if (this.parkedUntilMs(nowMs, lane) !== undefined) return 0
    const { concurrency, readyMin } = this.#policies
    if (concurrency === 0) return 0
    if (this.#isOut(nowMs)) return 1
    const rateMax = Math.max(...this.#gates.map((gate) => gate.pace.perSecond))
    const perSecond = Math.min(rateMax, ...this.#gates.map((gate) => gate.pace.limit))
    return Math.min(Math.max(2 * concurrency, readyMin), Math.ceil(perSecond))
  }

  /** Whether every endpoint gets at most a probe. */
  #isOut(nowMs: number): boolean {
    return this.#gates.every((gate) => gate.isOut(nowMs))
  }

  /** Reserves room for deliveries that are on their way from the store, until {@link take}. */
  reserve(line: Line, count: number): void {
    this.#reserved[line] += count
    this.#prefetch.add(count)
  }

  /** Takes leased deliveries, and frees the room that was reserved for them. */
  take(line: Line, deliveries: readonly LeasedDelivery[], reserved: number): void {
    this.#reserved[line] -= reserved
    if (line === 'ahead') for (const delivery of deliveries) this.#takeAhead(delivery)
    else this.#waiting[line].push(...deliveries)
    this.#prefetch.add(deliveries.length - reserved)
  }

  /** Inserts a delivery into the lane `first`. Deliveries that go ahead alternate there with all others. */
  #takeAhead(delivery: LeasedDelivery): void {
    this.#waiting.first.splice(2 * this.#ahead.size + 1, 0, delivery)
    this.#ahead.add(delivery)
  }

  /**
   * Removes and returns the ready deliveries that exceed the current maximum. Their leases could expire here, and other
   * processes may send them sooner.
   */
  giveBackIdle(nowMs: number): readonly LeasedDelivery[] {
    return this.#letGo((lane) => {
      const readyMax = this.#readyMax(lane, nowMs)
      return lane === 'first' && readyMax > 0 ? readyMax + this.#ahead.size : readyMax
    })
  }

  /** Removes and returns deliveries whose leases are too old to start a request. */
  giveBackStale(): readonly LeasedDelivery[] {
    return lanes.flatMap((lane) => {
      const waiting = this.#waiting[lane]
      const stale = waiting.filter((delivery) => this.#prefetch.isStale(delivery))
      if (stale.length === 0) return []
      waiting.splice(0, Infinity, ...waiting.filter((delivery) => !stale.includes(delivery)))
      this.#forget(stale)
      return stale
    })
  }

  /** Removes and returns all ready deliveries. */
  giveBack(): readonly LeasedDelivery[] {
    return this.#letGo(() => 0)
  }

  #letGo(keptOf: (lane: Lane) => number): readonly LeasedDelivery[] {
    const deliveries = lanes.flatMap((lane) => this.#waiting[lane].splice(keptOf(lane)))
    this.#forget(deliveries)
    return deliveries
  }

  #forget(deliveries: readonly LeasedDelivery[]): void {
    for (const delivery of deliveries) this.#ahead.delete(delivery)
    this.#prefetch.add(-deliveries.length)
  }

  /**
   * When the first endpoint may get a delivery from this lane, in milliseconds since 1970. Undefined unless breakers
   * or 429s block every endpoint.
   */
  parkedUntilMs(nowMs: number, lane: Lane): number | undefined {
    let parkedUntilMs = Infinity
    for (const gate of this.#gates) {
      const untilMs = gate.parkedUntilMs(nowMs, lane)
      if (untilMs === undefined) return undefined
      parkedUntilMs = Math.min(parkedUntilMs, untilMs)
    }
    return parkedUntilMs
  }

  /** When a pace next lets a ready delivery start, in milliseconds since 1970; undefined if no pace holds one back. */
  startsAtMs(nowMs: number): number | undefined {
    if (!this.hasReady) return undefined
    const timesMs = this.#gates
      .map(({ pace }) => pace.freeAtMs(nowMs))
      .filter((atMs) => atMs > nowMs)
    return timesMs.length > 0 ? Math.min(...timesMs) : undefined
  }

  /**
   * Returns the time one retry window before `nowMs`, if all endpoints have been down since then; undefined otherwise.
   * Deliveries that were due by that time are undeliverable.
   */
  undeliverableSinceMs(nowMs: number): number | undefined {
    if (this.parkedUntilMs(nowMs, 'first') === undefined) return undefined
    const windowStartMs = nowMs - this.#policies.retryWindowMs
    const isUndeliverable = this.#gates.every(
      ({ downSinceMs = nowMs }) => downSinceMs <= windowStartMs,
    )
    return isUndeliverable ? windowStartMs : undefined
  }

  /**
   * Whether to stop waiting for a delivery that can start at `startAtMs`. True if that is more than a retry window
   * away. Also true if the endpoints have been down, or the concurrency has been 0, for a whole window.
   */
  isUndeliverable(startAtMs: number, nowMs: number): boolean {
    if (this.#policies.concurrency === 0) this.#withoutShareSinceMs ??= nowMs
    const isWithoutShare =
      (this.#withoutShareSinceMs ?? nowMs) < nowMs - this.#policies.retryWindowMs
    const isFarAway = startAtMs > nowMs + this.#policies.retryWindowMs
    return isWithoutShare || isFarAway || this.undeliverableSinceMs(nowMs) !== undefined
  }

  /** Removes and returns the delivery that starts next; undefined if none is ready or none may start. */
  next(nowMs: number): Start | undefined {
    for (const lane of this.#laneOrder()) {
      const start = this.#nextOf(lane, nowMs)
      if (start !== undefined) return start
    }
    return undefined
  }

  /** Notes that the round of a delivery from {@link next} is settled. */
  end({ lane }: LeasedDelivery): void {
    this.#rounds--
    if (lane !== 'first') this.#laterRounds--
  }

  #nextOf(lane: Lane, nowMs: number): Start | undefined {
    const waiting = this.#waiting[lane]
    if (waiting.length === 0) return undefined
    // If no endpoint may get a request, only the first delivery needs a look, in case it must be settled.
    const isOpen = this.#gates.some((gate) => gate.access(nowMs, lane) === 'ask')
    const looked = isOpen ? waiting.length : 1
    for (let index = 0; index < looked; index++) {
      const delivery = waiting[index]
      const start = delivery === undefined ? undefined : this.#startOf(delivery, nowMs)
      if (start === undefined) continue
      this.#forget(waiting.splice(index, 1))
      if (start.kind === 'round') this.#begin(lane)
      return start
    }
    return undefined
  }

  #begin(lane: Lane): void {
    this.#rounds++
    if (lane !== 'first') this.#laterRounds++
    for (const other of lanes) {
      const isPassedOver = other !== lane && this.#waiting[other].length > 0
      this.#passedOver[other] = isPassedOver ? this.#passedOver[other] + 1 : 0
    }
  }

  /**
   * Returns the lanes in the order to try them. A lane that was passed over often enough goes first, so that none
   * starves. Retries leave some slots free for first attempts, because an endpoint that doesn't answer occupies slots
   * for a long time.
   */
  #laneOrder(): readonly Lane[] {
    const { concurrency } = this.#policies
    const keptRounds = Math.min(keptRoundsMax, Math.floor(concurrency / 2))
    const isFree = this.#laterRounds < concurrency - keptRounds
    const open = isFree ? lanes : firstLane
    const isLate = (lane: Lane): boolean => this.#passedOver[lane] >= passedOverMax
    if (!open.some(isLate)) return open
    return [...open.filter(isLate), ...open.filter((lane) => !isLate(lane))]
  }

  #startOf(delivery: LeasedDelivery, nowMs: number): Start | undefined {
    if (this.#prefetch.isStale(delivery)) {
      return {
        kind: 'settled',
        settlement: { kind: 'returned', delivery, dueAtMs: delivery.dueAtMs },
      }
    }
    // Check as late as possible: the delivery may have waited long for a breaker or in a suspended process.
    if (isWindowOver(delivery, this.#policies.retryWindowMs, nowMs)) {
      const { attempts } = delivery
      return {
        kind: 'settled',
        settlement: { kind: 'expired', delivery, attempts, reason: windowOver },
      }
    }
    const gates = this.#gates.filter(({ endpoint }) => !isHeld(endpoint.url, delivery.holds, nowMs))
    if (gates.length === 0) return { kind: 'settled', settlement: this.#withoutEndpoint(delivery) }
    const ready: EndpointGate[] = []
    for (const gate of gates) {
      const access = gate.access(nowMs, delivery.lane)
      if (access === 'wait') return undefined
      if (access === 'ask') ready.push(gate)
    }
    if (ready.length > 0) return { kind: 'round', delivery, gates: ready }
    const probeAtMs = earliest(gates.map((gate) => gate.parkedUntilMs(nowMs, delivery.lane)))
    if (probeAtMs === undefined || gates.length === this.#gates.length) return undefined
    // All endpoints left for this delivery are blocked. Make room for deliveries that can go to other endpoints.
    return { kind: 'settled', settlement: { kind: 'returned', delivery, dueAtMs: probeAtMs } }
  }

  /** Settles a delivery whose endpoints are all on hold: `returned` if a hold has an end, `failed` if none has. */
  #withoutEndpoint(delivery: LeasedDelivery): Settlement {
    const { attempts, holds } = delivery
    const urls = this.destination.endpoints.map(({ url }) => url)
    const times = holds.filter(({ url }) => urls.includes(url)).map(({ untilMs }) => untilMs)
    const later = times.filter((untilMs) => untilMs !== null)
    if (later.length > 0) return { kind: 'returned', delivery, dueAtMs: Math.min(...later) }
    return { kind: 'failed', delivery, attempts, reason: 'no_endpoint_left' }
  }
}

/** Why a delivery expired: its endpoints stayed down. */
export const breakerOpen = 'breaker_open'
/** Why a delivery expired: it was still waiting when its retry window ended. */
const windowOver: GivenUpReason = 'window_over'

const firstLane: readonly Lane[] = ['first']
/** Minimum room for deliveries that overtake those in the store. Clients usually send this many at once. */
const aheadMin = 100
/** Maximum number of concurrent rounds that are reserved for first attempts. */
const keptRoundsMax = 2
/** How many times in a row a lane is passed over before it goes first. */
const passedOverMax = 4

/** Returns the earliest time; undefined unless all are known. */
function earliest(times: readonly (number | undefined)[]): number | undefined {
  const known = times.filter((time) => time !== undefined)
  return known.length === times.length ? Math.min(...known) : undefined
}
