import { beforeEach, describe, expect, test } from 'vitest'
import {
  CircuitBreaker,
  defaultBreakerPolicy,
  type BreakerChange,
  type EndpointHealth,
} from '../../src/delivery/circuit-breaker.ts'

const secondMs = 1_000
const minuteMs = 60 * secondMs
const concurrency = 10

let breaker: CircuitBreaker
let nowMs: number

beforeEach(() => {
  breaker = new CircuitBreaker(defaultBreakerPolicy, concurrency)
  nowMs = Date.UTC(2026, 0, 2)
})

function ask(health: EndpointHealth): BreakerChange | undefined {
  return breaker.end(breaker.start(nowMs, 'first')!, health, nowMs)
}

describe('news from another process', () => {
  const down = { openMs: 30 * secondMs, graceMs: 6 * secondMs, rank: 1 }

  test('opens a breaker, and leaves the first probe to that process', () => {
    expect(breaker.follow(down, nowMs)).toEqual({
      kind: 'opened',
      openMs: 36 * secondMs,
      probeAtMs: nowMs + 36 * secondMs,
    })
    expect(breaker.freeSlots(nowMs, 'first')).toBe(0)
    nowMs = breaker.probeAtMs(nowMs, 'first')!
    expect(ask('failure')).toMatchObject({ kind: 'reopened', openMs: minuteMs })
  })

  test('does not open a breaker after a success in this process, but makes the next failure open it', () => {
    ask('success')
    expect(breaker.follow(down, nowMs)).toBeUndefined()
    expect(breaker.state).toBe('closed')
    ask('success')
    expect(ask('failure')).toBeUndefined()
    ask('success')
    breaker.follow(down, nowMs)
    expect(ask('failure')).toMatchObject({ kind: 'opened', openMs: 30 * secondMs })
  })

  test('opens a breaker once the last success in this process is older than the window', () => {
    ask('success')
    nowMs += minuteMs
    expect(breaker.follow(down, nowMs)).toMatchObject({ kind: 'opened' })
  })

  test('lets a breaker recover step by step once the endpoint answers again', () => {
    breaker.follow(down, nowMs)
    const up = { openMs: 0, graceMs: 0, rank: 1 }
    expect(breaker.follow(up, nowMs)).toEqual({ kind: 'recovering' })
    expect(breaker.freeSlots(nowMs, 'first')).toBe(1)
    expect(breaker.follow(up, nowMs)).toBeUndefined()
  })

  test('of the lower rank wins if two arrive at the same time, in either order', () => {
    const [low, high] = [
      { ...down, rank: 0, graceMs: 0 },
      { ...down, rank: 2 },
    ]
    for (const both of [
      [low, high],
      [high, low],
    ]) {
      breaker = new CircuitBreaker(defaultBreakerPolicy, concurrency)
      for (const each of both) breaker.follow(each, nowMs)
      expect(breaker.probeAtMs(nowMs, 'first')).toBe(nowMs + 30 * secondMs)
    }
    nowMs += 30 * secondMs
    // The process that probed decides the next open time.
    expect(breaker.follow({ ...high, openMs: minuteMs }, nowMs)).toMatchObject({ kind: 'reopened' })
  })

  test('changes nothing while this process is probing', () => {
    for (let failures = 0; failures < 10; failures++) ask('failure')
    nowMs = breaker.probeAtMs(nowMs, 'first')!
    const probe = breaker.start(nowMs, 'first')!
    expect(breaker.follow(down, nowMs)).toBeUndefined()
    expect(breaker.end(probe, 'success', nowMs)).toEqual({ kind: 'recovering' })
  })
})
