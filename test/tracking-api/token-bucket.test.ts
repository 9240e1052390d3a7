import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { returnTokens, takeTokens, type TokenBucket } from '../../src/tracking-api/token-bucket.ts'

describe('takeTokens', () => {
  test('allows the calls of one second at once, and then the rate', () => {
    const request = { nowMs: 0, count: 10, perSecond: 10 }
    const first = takeTokens(undefined, request)
    expect(first).toEqual({ bucket: { tokens: 0, atMs: 0 }, waitMs: 0 })
    expect(takeTokens(first.bucket, { ...request, nowMs: 0, count: 1 }).waitMs).toBe(1)
    expect(takeTokens(first.bucket, { ...request, nowMs: 100, count: 1 })).toEqual({
      bucket: { tokens: 0, atMs: 100 },
      waitMs: 0,
    })
  })

  test('allows one batch larger than the rate, and makes later ones wait for it', () => {
    const { bucket } = takeTokens(undefined, { nowMs: 0, count: 2_500, perSecond: 100 })
    expect(bucket.tokens).toBe(-2_400)
    expect(takeTokens(bucket, { nowMs: 4_000, count: 1, perSecond: 100 }).waitMs).toBe(20_001)
    expect(takeTokens(bucket, { nowMs: 24_001, count: 1, perSecond: 100 }).waitMs).toBe(0)
  })

  test('holds at least one call, so that a source slower than one per second can send', () => {
    const request = { nowMs: 0, count: 1, perSecond: 0.1 }
    const { bucket, waitMs } = takeTokens(undefined, request)
    expect(waitMs).toBe(0)
    expect(takeTokens(bucket, { ...request, nowMs: 5_000 }).waitMs).toBe(0)
  })

  test('holds tokens for one second at most, and keeps them when the clock goes back', () => {
    const bucket = { tokens: 1, atMs: 50_000 }
    expect(takeTokens(bucket, { nowMs: 9e9, count: 0, perSecond: 5 }).bucket.tokens).toBe(5)
    expect(takeTokens(bucket, { nowMs: 0, count: 0, perSecond: 5 }).bucket.tokens).toBe(1)
  })

  test('takes back unused tokens', () => {
    const { bucket } = takeTokens(undefined, { nowMs: 0, count: 20, perSecond: 10 })
    const again = takeTokens(returnTokens(bucket, 20), { nowMs: 0, count: 20, perSecond: 10 })
    expect(again).toEqual({ bucket, waitMs: 0 })
  })

  test('never allows more than the rate, one second of it and one batch', () => {
    const steps = fc.array(
      fc.record({ afterMs: fc.nat(2_000), count: fc.integer({ min: 1, max: 50 }) }),
    )
    fc.assert(
      fc.property(steps, fc.integer({ min: 1, max: 100 }), (requests, perSecond) => {
        let bucket: TokenBucket | undefined
        let nowMs = 0
        let come = 0
        for (const { afterMs, count } of requests) {
          nowMs += afterMs
          const taken = takeTokens(bucket, { nowMs, count, perSecond })
          bucket = taken.bucket
          if (taken.waitMs === 0) come += count
          const again = takeTokens(bucket, { nowMs: nowMs + taken.waitMs, count, perSecond })
          if (taken.waitMs > 0) expect(again.waitMs).toBe(0)
        }
        expect(come).toBeLessThanOrEqual(perSecond + (nowMs / 1_000) * perSecond + 50)
      }),
    )
  })
})
