import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { RateLimits } from '../../src/tracking-api/rate-limits.ts'

/** The limits of one source, and its clock. */
function limited(eventsPerSecond: number) {
  const source = { id: 'website', eventsPerSecond }
  const clock = { atMs: 0 }
  const limits = new RateLimits({ nowMs: () => clock.atMs })
  /** Takes tokens at a moment. */
  const take = (atMs: number, count: number): number => {
    clock.atMs = atMs
    return limits.take(source, count)
  }
  /** Counts the single calls that may be sent now. */
  const available = (atMs: number): number => {
    let count = 0
    while (take(atMs, 1) === 0) count++
    return count
  }
  const giveBack = (count: number): void => limits.giveBack(source, count)
  return { take, available, giveBack }
}

describe('a rate limit', () => {
  test('allows the calls of one second at once, and then the rate', () => {
    const { take, available } = limited(10)
    expect(take(0, 10)).toBe(0)
    expect(take(0, 1)).toBe(1)
    expect(available(100)).toBe(1)
  })

  test('allows one batch larger than the rate, and makes later ones wait for it', () => {
    const { take } = limited(100)
    expect(take(0, 2_500)).toBe(0)
    expect(take(4_000, 1)).toBe(20_001)
    expect(take(24_001, 1)).toBe(0)
  })

  test('allows at least one call, so that a source slower than one per second can send', () => {
    const { take } = limited(0.1)
    expect(take(0, 1)).toBe(0)
    expect(take(5_000, 1)).toBe(0)
  })

  test('saves up at most the calls of one second, and keeps them when the clock goes back', () => {
    const { take, available } = limited(5)
    expect(take(50_000, 5)).toBe(0)
    expect(available(9e9)).toBe(5)
    const set = limited(5)
    expect(set.take(50_000, 4)).toBe(0)
    expect(set.available(0)).toBe(1)
  })

  test('takes back unused tokens', () => {
    const { take, giveBack, available } = limited(10)
    expect(take(0, 20)).toBe(0)
    giveBack(20)
    expect(available(0)).toBe(10)
  })

  test('never allows more than the rate, plus the calls of one second and one batch', () => {
    const steps = fc.array(
      fc.record({ afterMs: fc.nat(2_000), count: fc.integer({ min: 1, max: 50 }) }),
    )
    fc.assert(
      fc.property(steps, fc.integer({ min: 1, max: 100 }), (requests, perSecond) => {
        const { take } = limited(perSecond)
        let nowMs = 0
        let come = 0
        for (const { afterMs, count } of requests) {
          nowMs += afterMs
          const waitMs = take(nowMs, count)
          if (waitMs > 0) {
            nowMs += waitMs
            expect(take(nowMs, count)).toBe(0)
          }
          come += count
        }
        expect(come).toBeLessThanOrEqual(perSecond + (nowMs / 1_000) * perSecond + 50)
      }),
    )
  })
})
