import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { defaultRetryPolicy, nextAttemptAtMs, type RetryPolicy } from '../../src/delivery/index.ts'

const firstAttemptAtMs = Date.UTC(2026, 0, 2)
const secondMs = 1_000
const hourMs = 60 * 60 * secondMs
const withoutJitter = (): number => 0.5
const almostOne = 1 - Number.EPSILON

/** The wait after a round that ended at once, in seconds. */
function waitSeconds(attempts: number, random = withoutJitter): number | undefined {
  const round = {
    attempts,
    firstAttemptAtMs,
    endedAtMs: firstAttemptAtMs,
    retryAfterMs: undefined,
  }
  const atMs = nextAttemptAtMs(defaultRetryPolicy, round, random)
  return atMs === undefined ? undefined : (atMs - firstAttemptAtMs) / secondMs
}

/** The waits of a delivery whose rounds all fail at once, until its window ends. */
function wholeSchedule(policy: RetryPolicy, random: () => number): readonly number[] {
  const waitsMs: number[] = []
  let endedAtMs = firstAttemptAtMs
  for (;;) {
    const round = { attempts: waitsMs.length + 1, firstAttemptAtMs, endedAtMs }
    const atMs = nextAttemptAtMs(policy, { ...round, retryAfterMs: undefined }, random)
    if (atMs === undefined) return waitsMs
    waitsMs.push(atMs - endedAtMs)
    endedAtMs = atMs
  }
}

describe('the schedule', () => {
  test.each([
    { attempts: 1, seconds: 10 },
    { attempts: 2, seconds: 25 },
    { attempts: 3, seconds: 62.5 },
    { attempts: 4, seconds: 156.25 },
    { attempts: 5, seconds: 390.625 },
    { attempts: 6, seconds: 976.563 },
    { attempts: 7, seconds: 2_441.406 },
    { attempts: 8, seconds: 3_600 },
    { attempts: 9, seconds: 3_600 },
    { attempts: 10_000, seconds: 3_600 },
  ])('waits $seconds s after attempt $attempts', ({ attempts, seconds }) => {
    expect(waitSeconds(attempts)).toBe(seconds)
  })

  test.each([
    { attempts: 1, shortest: 8, longest: 12 },
    { attempts: 2, shortest: 20, longest: 30 },
    { attempts: 8, shortest: 2_880, longest: 4_320 },
  ])(
    'moves the wait after attempt $attempts between $shortest and $longest s',
    ({ attempts, shortest, longest }) => {
      expect(waitSeconds(attempts, () => 0)).toBe(shortest)
      expect(waitSeconds(attempts, () => almostOne)).toBe(longest)
    },
  )

  test('makes nine retries in four hours', () => {
    expect(defaultRetryPolicy.windowMs).toBe(4 * hourMs)
    expect(wholeSchedule(defaultRetryPolicy, withoutJitter)).toEqual([
      10_000, 25_000, 62_500, 156_250, 390_625, 976_563, 2_441_406, 3_600_000, 3_600_000,
    ])
  })

  test('makes nine or ten retries whatever the jitter', () => {
    expect(wholeSchedule(defaultRetryPolicy, () => 0)).toHaveLength(10)
    expect(wholeSchedule(defaultRetryPolicy, () => almostOne)).toHaveLength(9)
  })

  test('counts each wait from the end of the round', () => {
    const endedAtMs = firstAttemptAtMs + 5_000
    const round = { attempts: 1, firstAttemptAtMs, endedAtMs, retryAfterMs: undefined }
    expect(nextAttemptAtMs(defaultRetryPolicy, round, withoutJitter)).toBe(endedAtMs + 10_000)
  })
})

describe('the window', () => {
  const policy = { ...defaultRetryPolicy, windowMs: 10_000 }
  const round = { attempts: 1, firstAttemptAtMs, retryAfterMs: undefined }

  test('includes its last moment', () => {
    const endedAtMs = firstAttemptAtMs
    const atMs = nextAttemptAtMs(policy, { ...round, endedAtMs }, withoutJitter)
    expect(atMs).toBe(firstAttemptAtMs + 10_000)
  })

  test('ends there', () => {
    const endedAtMs = firstAttemptAtMs + 1
    expect(nextAttemptAtMs(policy, { ...round, endedAtMs }, withoutJitter)).toBeUndefined()
  })
})

describe('a wait that an endpoint asks for', () => {
  test.each([
    { name: 'counts when it is longer', retryAfterMs: 60_000, waitMs: 60_000 },
    { name: 'does not count when it is shorter', retryAfterMs: 9_999, waitMs: 10_000 },
    { name: 'is not moved by jitter', retryAfterMs: 12_001, waitMs: 12_001 },
    { name: 'may reach the end of the window', retryAfterMs: 4 * hourMs, waitMs: 4 * hourMs },
  ])('$name', ({ retryAfterMs, waitMs }) => {
    const round = { attempts: 1, firstAttemptAtMs, endedAtMs: firstAttemptAtMs, retryAfterMs }
    const atMs = nextAttemptAtMs(defaultRetryPolicy, round, withoutJitter)
    expect(atMs).toBe(firstAttemptAtMs + waitMs)
  })

  test('ends the delivery when it reaches beyond the window', () => {
    const retryAfterMs = 4 * hourMs + 1
    const round = { attempts: 1, firstAttemptAtMs, endedAtMs: firstAttemptAtMs, retryAfterMs }
    expect(nextAttemptAtMs(defaultRetryPolicy, round, withoutJitter)).toBeUndefined()
  })
})

test('the next attempt is never before schedule or Retry-After, and never after the window', () => {
  const rounds = fc.record({
    attempts: fc.integer({ min: 1, max: 200 }),
    firstAttemptAtMs: fc.constant(firstAttemptAtMs),
    endedAtMs: fc.nat(5 * hourMs).map((passedMs) => firstAttemptAtMs + passedMs),
    retryAfterMs: fc.option(fc.nat(5 * hourMs), { nil: undefined }),
  })
  const randoms = fc.double({ min: 0, max: almostOne, noNaN: true })
  const { firstDelayMs, factor, delayMsMax, jitter, windowMs } = defaultRetryPolicy
  const property = fc.property(rounds, randoms, (round, random) => {
    const delayMs = Math.min(firstDelayMs * factor ** (round.attempts - 1), delayMsMax)
    const earliestMs = Math.max(Math.floor(delayMs * (1 - jitter)), round.retryAfterMs ?? 0)
    const latestMs = Math.max(Math.ceil(delayMs * (1 + jitter)), round.retryAfterMs ?? 0)
    const endMs = firstAttemptAtMs + windowMs
    const atMs = nextAttemptAtMs(defaultRetryPolicy, round, () => random)
    if (atMs === undefined) {
      expect(round.endedAtMs + latestMs).toBeGreaterThan(endMs)
    } else {
      expect(atMs).toBeGreaterThanOrEqual(round.endedAtMs + earliestMs)
      expect(atMs).toBeLessThanOrEqual(Math.min(round.endedAtMs + latestMs, endMs))
    }
  })
  fc.assert(property)
})
