import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  CircuitBreaker,
  defaultBreakerPolicy,
  type BreakerChange,
  type BreakerTicket,
  type EndpointHealth,
} from '../../src/delivery/circuit-breaker.ts'
import type { Lane } from '../../src/model/index.ts'

/** Opens early, so that short sequences reach all states. */
const policy = { ...defaultBreakerPolicy, consecutiveFailures: 3, requestsMin: 4 }

type Step =
  | { readonly kind: 'start'; readonly lane: Lane }
  | { readonly kind: 'end'; readonly pick: number; readonly health: EndpointHealth }
  | { readonly kind: 'pass'; readonly durationMs: number }
  | { readonly kind: 'wait' }
  | { readonly kind: 'resize'; readonly concurrency: number }

/** Drives a breaker with a clock and requests, and checks its invariants after each step. */
class Driver {
  readonly breaker: CircuitBreaker
  concurrency: number
  nowMs: number = Date.UTC(2026, 0, 2)
  readonly #inFlight: BreakerTicket[] = []
  #probe: BreakerTicket | undefined
  /** Whether the probe started before it was due. */
  #isEarly = false

  constructor(concurrency: number) {
    this.concurrency = concurrency
    this.breaker = new CircuitBreaker(policy, concurrency)
  }

  take(step: Step): void {
    switch (step.kind) {
      case 'start':
        this.start(step.lane)
        break
      case 'end':
        this.#endOne(step.pick, step.health)
        break
      case 'pass':
        this.nowMs += step.durationMs
        break
      case 'wait':
        this.waitForProbe()
        break
      case 'resize':
        this.resize(step.concurrency)
        break
    }
    this.check()
  }

  resize(concurrency: number): void {
    const { state } = this.breaker
    this.concurrency = concurrency
    this.breaker.resize(concurrency)
    expect(this.breaker.state).toBe(state)
  }

  start(lane: Lane = 'first'): boolean {
    const free = this.breaker.freeSlots(this.nowMs, lane)
    const isProbe = this.breaker.state === 'open'
    const isEarly = this.breaker.probeAtMs(this.nowMs, 'first')! > this.nowMs
    const ticket = this.breaker.start(this.nowMs, lane)
    expect(ticket !== undefined).toBe(free > 0)
    if (ticket === undefined) return false
    this.#inFlight.push(ticket)
    if (isProbe) {
      expect(this.#probe).toBeUndefined()
      this.#probe = ticket
      this.#isEarly = isEarly
    }
    return true
  }

  #endOne(pick: number, health: EndpointHealth): BreakerChange | undefined {
    const [ticket] = this.#inFlight.splice(pick % Math.max(this.#inFlight.length, 1), 1)
    if (ticket === undefined) return undefined
    if (ticket === this.#probe) this.#probe = undefined
    return this.breaker.end(ticket, health, this.nowMs)
  }

  endAll(health: EndpointHealth): readonly BreakerChange[] {
    const changes = this.#inFlight.map(() => undefined).map(() => this.#endOne(0, health))
    return changes.filter((change) => change !== undefined)
  }

  waitForProbe(): void {
    this.nowMs = Math.max(this.breaker.probeAtMs(this.nowMs, 'first') ?? this.nowMs, this.nowMs)
  }

  check(): void {
    const { state } = this.breaker
    const free = this.breaker.freeSlots(this.nowMs, 'first')
    expect(Number.isInteger(free)).toBe(true)
    expect(free).toBeGreaterThanOrEqual(0)
    // After a reduction, more requests can be in flight than are allowed now.
    const freeMax = Math.max(this.concurrency - this.#inFlight.length, 0)
    expect(free).toBeLessThanOrEqual(freeMax)
    expect(state === 'half-open').toBe(this.#probe !== undefined)
    const probeAtMs = this.breaker.probeAtMs(this.nowMs, 'first')
    expect(probeAtMs !== undefined).toBe(
      state === 'open' || (state === 'half-open' && this.#isEarly),
    )
    if (probeAtMs === undefined || state !== 'open') return
    expect(probeAtMs).toBeLessThanOrEqual(this.nowMs + policy.openMsMax)
    expect(free).toBe(probeAtMs <= this.nowMs ? Math.min(freeMax, 1) : 0)
    expect(this.breaker.freeSlots(this.nowMs, 'manual')).toBeGreaterThanOrEqual(free)
  }
}

const ends = fc.constantFrom<EndpointHealth>('success', 'failure', 'failure', 'neutral')
const someLane = fc.constantFrom<Lane>('first', 'first', 'manual')
const steps = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: fc.record({ kind: fc.constant('start' as const), lane: someLane }) },
    {
      weight: 6,
      arbitrary: fc.record({ kind: fc.constant('end' as const), pick: fc.nat(9), health: ends }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        kind: fc.constant('pass' as const),
        durationMs: fc.integer({ min: -100_000, max: 100_000 }),
      }),
    },
    { weight: 1, arbitrary: fc.constant<Step>({ kind: 'wait' }) },
    {
      weight: 1,
      arbitrary: fc.record({
        kind: fc.constant('resize' as const),
        concurrency: fc.integer({ min: 0, max: 6 }),
      }),
    },
  ),
  { maxLength: 150, size: 'max' },
)

const concurrencies = fc.integer({ min: 1, max: 6 })

/** Returns a driver after some steps. */
function drive(concurrency: number, taken: readonly Step[]): Driver {
  const driver = new Driver(concurrency)
  for (const step of taken) driver.take(step)
  // The tests below check the recovery, which needs a concurrency above 0.
  if (driver.concurrency === 0) driver.resize(concurrency)
  return driver
}

test('a breaker never exceeds the concurrency, one probe, or the maximum open time', () => {
  fc.assert(fc.property(concurrencies, steps, (...given) => drive(...given).check()))
})

test('a recovered endpoint gets its whole concurrency after at most that many requests', () => {
  const property = fc.property(concurrencies, steps, (...given) => {
    const driver = drive(...given)
    driver.endAll('success')
    for (
      let attempt = 0;
      attempt < driver.concurrency && driver.breaker.state !== 'closed';
      attempt++
    ) {
      driver.waitForProbe()
      expect(driver.start()).toBe(true)
      driver.endAll('success')
    }
    expect(driver.breaker.state).toBe('closed')
    expect(driver.breaker.freeSlots(driver.nowMs, 'first')).toBe(driver.concurrency)
  })
  fc.assert(property)
})

test('an endpoint that fails every request gets one request after each open time', () => {
  const pauses = fc.array(fc.integer({ min: 20_000, max: 60_000 }), { minLength: 50 })
  const property = fc.property(concurrencies, steps, pauses, (concurrency, taken, pausesMs) => {
    const driver = drive(concurrency, taken)
    driver.endAll('failure')
    let asked = 0
    while (driver.breaker.state !== 'open') {
      expect(driver.start()).toBe(true)
      driver.endAll('failure')
      expect(++asked).toBeLessThanOrEqual(policy.consecutiveFailures)
    }
    let blockedUntilMs = driver.breaker.probeAtMs(driver.nowMs, 'first') ?? 0
    let leastOpenMs = Math.min(policy.openMs, policy.openMsMax)
    for (const pauseMs of pausesMs) {
      driver.nowMs += pauseMs
      if (!driver.start()) continue
      expect(driver.nowMs).toBeGreaterThanOrEqual(blockedUntilMs)
      expect(driver.start()).toBe(false)
      const [change, ...others] = driver.endAll('failure')
      expect(others).toEqual([])
      expect(change).toMatchObject({ kind: 'reopened' })
      if (change?.kind !== 'reopened') return
      expect(change.openMs).toBeGreaterThanOrEqual(leastOpenMs)
      expect(change.probeAtMs).toBe(driver.nowMs + change.openMs)
      blockedUntilMs = change.probeAtMs
      leastOpenMs = Math.min(2 * change.openMs, policy.openMsMax)
    }
    expect(leastOpenMs).toBe(policy.openMsMax)
  })
  fc.assert(property)
})
