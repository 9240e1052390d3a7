import { beforeEach, describe, expect, test } from 'vitest'
import {
  CircuitBreaker,
  defaultBreakerPolicy,
  type BreakerChange,
  type BreakerTicket,
  type EndpointHealth,
} from '../../src/delivery/circuit-breaker.ts'

const startMs = Date.UTC(2026, 0, 2)
const secondMs = 1_000
const minuteMs = 60 * secondMs
const hourMs = 60 * minuteMs
const concurrency = 10

let breaker: CircuitBreaker
let nowMs: number

beforeEach(() => {
  breaker = new CircuitBreaker(defaultBreakerPolicy, concurrency)
  nowMs = startMs
})

function start(): BreakerTicket {
  const ticket = breaker.start(nowMs, 'first')
  expect(ticket).toBeDefined()
  return ticket!
}

function startMany(count: number): readonly BreakerTicket[] {
  return Array.from({ length: count }, start)
}

function end(ticket: BreakerTicket, health: EndpointHealth): BreakerChange | undefined {
  return breaker.end(ticket, health, nowMs)
}

function ask(health: EndpointHealth): BreakerChange | undefined {
  return end(start(), health)
}

/** Makes requests one after the other. `S` is a success, `F` a failure, `N` a neutral end. */
function askEach(ends: string): readonly (BreakerChange | undefined)[] {
  const healths = { S: 'success', F: 'failure', N: 'neutral' } as const
  return Array.from(ends, (letter) => ask(healths[letter as keyof typeof healths]))
}

const failures = (count: number): string => 'F'.repeat(count)

function waitForProbe(): void {
  nowMs = breaker.probeAtMs(nowMs, 'first')!
}

/** Opens the breaker, and lets its probe succeed. */
function beginRecovery(): void {
  askEach(failures(10))
  waitForProbe()
  ask('success')
}

test('the policy is the documented one and cannot be changed', () => {
  expect(defaultBreakerPolicy).toEqual({
    consecutiveFailures: 10,
    earlyProbeEveryMs: 10_000,
    failureRate: 0.7,
    requestsMin: 10,
    windowMs: 30_000,
    openMs: 30_000,
    openMsMax: 300_000,
  })
  expect(Object.isFrozen(defaultBreakerPolicy)).toBe(true)
})

describe('a closed breaker', () => {
  test('admits as many requests at once as the concurrency allows', () => {
    expect(breaker.state).toBe('closed')
    expect(breaker.probeAtMs(nowMs, 'first')).toBeUndefined()
    expect(breaker.freeSlots(nowMs, 'first')).toBe(10)
    const tickets = startMany(10)
    expect(breaker.freeSlots(nowMs, 'first')).toBe(0)
    expect(breaker.start(nowMs, 'first')).toBeUndefined()
    end(tickets[0]!, 'neutral')
    expect(breaker.freeSlots(nowMs, 'first')).toBe(1)
  })

  test('counts the end of a request once', () => {
    const [first] = startMany(2)
    end(first!, 'success')
    end(first!, 'success')
    expect(breaker.freeSlots(nowMs, 'first')).toBe(9)
  })

  test('opens with the tenth failure in a row, and reports it', () => {
    const changes = askEach(failures(10))
    expect(changes.slice(0, 9)).toEqual(Array(9).fill(undefined))
    expect(changes[9]).toEqual({ kind: 'opened', openMs: 30_000, probeAtMs: nowMs + 30_000 })
    expect(breaker.state).toBe('open')
    expect(breaker.probeAtMs(nowMs, 'first')).toBe(nowMs + 30_000)
  })

  test('opens after failures in a row however far apart they are', () => {
    for (let failed = 0; failed < 10; failed++) {
      expect(breaker.state).toBe('closed')
      ask('failure')
      nowMs += hourMs
    }
    expect(breaker.state).toBe('open')
  })

  test.each([
    { name: 'a success ends the series', ends: `${failures(9)}S${failures(9)}`, state: 'closed' },
    { name: 'a neutral end does not', ends: `${failures(9)}NF`, state: 'open' },
  ])('$name: $state', ({ ends, state }) => {
    breaker = new CircuitBreaker({ ...defaultBreakerPolicy, requestsMin: 100 }, concurrency)
    askEach(ends)
    expect(breaker.state).toBe(state)
  })

  test.each([
    { name: '7 of 10, a failure last', ends: 'FSFSFSFFFF', state: 'open' },
    { name: '6 of 10', ends: 'FSFSFSFSFF', state: 'closed' },
    { name: '8 of 9: too few', ends: 'FFFFSFFFF', state: 'closed' },
    { name: 'neutral ends do not make them 10', ends: 'FFFFSFFFFNNNN', state: 'closed' },
    { name: 'neutral ends do not lower the share', ends: 'FSFSFSNNNNFFFF', state: 'open' },
    { name: '7 of 10, a success last', ends: 'FFFFFFFSSS', state: 'closed' },
    { name: '8 of 11, the next failure', ends: 'FFFFFFFSSSF', state: 'open' },
  ])('$name: $state', ({ ends, state }) => {
    askEach(ends)
    expect(breaker.state).toBe(state)
  })

  test.each([
    { name: 'counts a request for nearly the window', passedMs: 29_999, state: 'open' },
    { name: 'forgets a request after the window', passedMs: 30_000, state: 'closed' },
  ])('$name', ({ passedMs, state }) => {
    askEach('F')
    nowMs += passedMs
    askEach('SFFFFSFFF')
    expect(breaker.state).toBe(state)
  })

  test('forgets together the requests that ended within the same thirtieth of the window', () => {
    ask('success')
    nowMs += 999
    askEach('SSS')
    nowMs = startMs + 29_999
    askEach('FFFFFF')
    nowMs = startMs + 30_000
    // If the successes still counted, the first failure would make 7 of 10. Without them, 7 of 7 are too few.
    askEach('FF')
    expect(breaker.state).toBe('closed')
    askEach('SF')
    expect(breaker.state).toBe('open')
  })
})

describe('an open breaker', () => {
  test('admits nothing until its open time is over, then one probe', () => {
    askEach(failures(10))
    nowMs = startMs + 29_999
    expect(breaker.freeSlots(nowMs, 'first')).toBe(0)
    expect(breaker.start(nowMs, 'first')).toBeUndefined()
    expect(breaker.state).toBe('open')
    nowMs++
    expect(breaker.freeSlots(nowMs, 'first')).toBe(1)
    expect(breaker.state).toBe('open')
    start()
    expect(breaker.state).toBe('half-open')
    expect(breaker.probeAtMs(nowMs, 'first')).toBeUndefined()
    expect(breaker.freeSlots(nowMs, 'first')).toBe(0)
    nowMs += hourMs
    expect(breaker.start(nowMs, 'first')).toBeUndefined()
  })

  test('doubles its open time with every failed probe, up to the maximum', () => {
    askEach(failures(10))
    const reopened = [60, 120, 240, 300, 300].map((seconds) => {
      waitForProbe()
      const change = ask('failure')
      expect(breaker.state).toBe('open')
      return { change, openMs: seconds * secondMs, probeAtMs: nowMs + seconds * secondMs }
    })
    for (const { change, openMs, probeAtMs } of reopened) {
      expect(change).toEqual({ kind: 'reopened', openMs, probeAtMs })
    }
  })

  test('never stays open longer than the maximum, not even the first time', () => {
    breaker = new CircuitBreaker({ ...defaultBreakerPolicy, openMsMax: 10_000 }, concurrency)
    expect(askEach(failures(10)).at(-1)).toMatchObject({ openMs: 10_000 })
  })

  test('counts its open time from the end of the probe', () => {
    askEach(failures(10))
    waitForProbe()
    const probe = start()
    nowMs += 5_000
    end(probe, 'failure')
    expect(breaker.probeAtMs(nowMs, 'first')).toBe(nowMs + 60_000)
  })

  test('admits the next probe at once after an inconclusive one, and keeps its open time', () => {
    askEach(failures(10))
    waitForProbe()
    expect(ask('neutral')).toBeUndefined()
    expect(breaker.state).toBe('open')
    expect(breaker.freeSlots(nowMs, 'first')).toBe(1)
    // This holds even if the clock is set back.
    nowMs -= hourMs
    expect(breaker.freeSlots(nowMs, 'first')).toBe(1)
    expect(ask('failure')).toMatchObject({ kind: 'reopened', openMs: 60_000 })
  })

  test.each(['success', 'failure', 'neutral'] as const)(
    'ignores a %s of a request that started before it opened',
    (health) => {
      const [first, second, third, fourth] = startMany(4)
      for (let failed = 0; failed < 10; failed++) ask('failure')
      expect(end(first!, health)).toBeUndefined()
      expect(breaker.state).toBe('open')
      expect(breaker.probeAtMs(nowMs, 'first')).toBe(nowMs + 30_000)
      waitForProbe()
      const probe = start()
      expect(end(second!, health)).toBeUndefined()
      expect(breaker.state).toBe('half-open')
      expect(end(probe, 'success')).toEqual({ kind: 'recovering' })
      expect(end(third!, health)).toBeUndefined()
      expect(breaker.freeSlots(nowMs, 'first')).toBe(1)
      askEach('S'.repeat(9))
      expect(breaker.state).toBe('closed')
      askEach(failures(9))
      expect(end(fourth!, health)).toBeUndefined()
      expect(breaker.state).toBe('closed')
      expect(breaker.freeSlots(nowMs, 'first')).toBe(10)
    },
  )

  test('counts requests that started before it opened against the concurrency until they end', () => {
    breaker = new CircuitBreaker({ ...defaultBreakerPolicy, consecutiveFailures: 1 }, 3)
    const tickets = startMany(3)
    end(tickets[0]!, 'failure')
    waitForProbe()
    expect(breaker.freeSlots(nowMs, 'first')).toBe(1)
    askEach('SS')
    expect(breaker.freeSlots(nowMs, 'first')).toBe(1)
    end(tickets[1]!, 'success')
    expect(breaker.freeSlots(nowMs, 'first')).toBe(2)
  })
})

describe('a recovering breaker', () => {
  test('begins with one request at a time', () => {
    askEach(failures(10))
    waitForProbe()
    expect(ask('success')).toEqual({ kind: 'recovering' })
    expect(breaker.state).toBe('recovering')
    expect(breaker.probeAtMs(nowMs, 'first')).toBeUndefined()
    expect(breaker.freeSlots(nowMs, 'first')).toBe(1)
    start()
    expect(breaker.freeSlots(nowMs, 'first')).toBe(0)
  })

  test.each([
    { ends: 'S', limit: 2 },
    { ends: 'SSSS', limit: 5 },
    { ends: 'N', limit: 1 },
    { ends: 'SF', limit: 1 },
    { ends: 'SSSSF', limit: 2 },
    { ends: 'SSSSSSSSFF', limit: 2 },
  ])('admits $limit at once after $ends', ({ ends, limit }) => {
    beginRecovery()
    askEach(ends)
    expect(breaker.state).toBe('recovering')
    expect(breaker.freeSlots(nowMs, 'first')).toBe(limit)
  })

  test('after a failure, admits nothing until the requests in flight are within the lower limit', () => {
    beginRecovery()
    askEach('SSSS')
    const tickets = startMany(5)
    end(tickets[0]!, 'failure')
    expect(breaker.freeSlots(nowMs, 'first')).toBe(0)
    end(tickets[1]!, 'neutral')
    end(tickets[2]!, 'neutral')
    expect(breaker.freeSlots(nowMs, 'first')).toBe(0)
    end(tickets[3]!, 'neutral')
    expect(breaker.freeSlots(nowMs, 'first')).toBe(1)
  })

  test('closes once it admits the whole concurrency, and reports it', () => {
    beginRecovery()
    const changes = askEach('SSSSSSSSS')
    expect(changes.slice(0, 8)).toEqual(Array(8).fill(undefined))
    expect(changes[8]).toEqual({ kind: 'closed' })
    expect(breaker.state).toBe('closed')
    expect(breaker.freeSlots(nowMs, 'first')).toBe(10)
  })

  test('closes at once if the concurrency is one', () => {
    breaker = new CircuitBreaker(defaultBreakerPolicy, 1)
    askEach(failures(10))
    waitForProbe()
    expect(ask('success')).toEqual({ kind: 'closed' })
    expect(breaker.state).toBe('closed')
    expect(askEach(failures(10)).at(-1)).toMatchObject({ openMs: 30_000 })
  })

  test.each([
    { name: '9 failures in a row since it began', ends: failures(9), state: 'recovering' },
    { name: '10 failures in a row since it began', ends: failures(10), state: 'open' },
    { name: '6 of 10 since it began', ends: 'FSFSFSFSFF', state: 'recovering' },
    { name: '7 of 10 since it began', ends: 'FSFSFSFFFF', state: 'open' },
  ])('$name: $state', ({ ends, state }) => {
    beginRecovery()
    askEach(ends)
    expect(breaker.state).toBe(state)
  })

  test('opens again for twice as long each time, until it has been closed', () => {
    beginRecovery()
    const reopened = askEach(failures(10)).at(-1)
    expect(reopened).toEqual({ kind: 'reopened', openMs: 60_000, probeAtMs: nowMs + 60_000 })
    waitForProbe()
    expect(askEach(`S${failures(10)}`).at(-1)).toMatchObject({ kind: 'reopened', openMs: 120_000 })
    waitForProbe()
    askEach('SSSSSSSSSS')
    expect(breaker.state).toBe('closed')
    expect(askEach(failures(10)).at(-1)).toMatchObject({ kind: 'opened', openMs: 30_000 })
  })

  test('keeps its counts when it closes', () => {
    breaker = new CircuitBreaker(defaultBreakerPolicy, 2)
    beginRecovery()
    expect(askEach('FFFFFS').at(-1)).toEqual({ kind: 'closed' })
    expect(askEach('FFFF').at(-1)).toMatchObject({ kind: 'opened' })
  })

  test('counts requests that were in flight when it closed', () => {
    beginRecovery()
    ask('success')
    const late = start()
    askEach('SSSSSSSS')
    expect(breaker.state).toBe('closed')
    askEach(failures(9))
    expect(end(late, 'failure')).toMatchObject({ kind: 'opened' })
  })
})

describe('a clock that is set back', () => {
  test('makes an open breaker wait for at most its whole open time again', () => {
    askEach(failures(10))
    nowMs -= hourMs
    expect(breaker.freeSlots(nowMs, 'first')).toBe(0)
    nowMs += 30_000
    expect(breaker.freeSlots(nowMs, 'first')).toBe(1)
  })

  test('changes nothing if the probe is still due within the open time', () => {
    askEach(failures(10))
    nowMs += 20_000
    breaker.freeSlots(nowMs, 'first')
    nowMs -= 10_000
    expect(breaker.probeAtMs(nowMs, 'first')).toBe(startMs + 30_000)
  })

  test('limits a doubled open time to its own length', () => {
    askEach(failures(10))
    waitForProbe()
    ask('failure')
    nowMs -= hourMs
    expect(breaker.probeAtMs(nowMs, 'first')).toBe(nowMs + 60_000)
  })

  test('keeps earlier results for at most the window from then on', () => {
    askEach('SSSSSS')
    nowMs -= hourMs
    ask('failure')
    nowMs += 29_999
    askEach('FFFF')
    expect(breaker.state).toBe('closed')
    nowMs++
    // 9 of 10 failed. If the old successes still counted, it would be 10 of 17.
    askEach('FFFFSF')
    expect(breaker.state).toBe('open')
  })

  test.each([
    { passedMs: 9_999, state: 'open' },
    { passedMs: 10_000, state: 'closed' },
  ])('keeps the distances between earlier results: $state', ({ passedMs, state }) => {
    askEach('FFF')
    nowMs += 20_000
    askEach('SSS')
    nowMs -= hourMs
    ask('failure')
    nowMs += passedMs
    askEach('FFF')
    expect(breaker.state).toBe(state)
  })
})
