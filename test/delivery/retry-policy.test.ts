import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { defaultRetryPolicy, nextAttemptAtMs } from '../../src/delivery/index.ts'

const endedAtMs = Date.UTC(2026, 0, 2)
const withoutJitter = (): number => 0.5
const almostOne = 1 - Number.EPSILON

/** Returns the wait after a number of rounds, in seconds. */
function waitSeconds(attempts: number, random = withoutJitter): number {
  return (nextAttemptAtMs(defaultRetryPolicy, { attempts, endedAtMs }, random) - endedAtMs) / 1_000
}

/** Returns all waits of a delivery until its window is over, in seconds. Its rounds take no time. */
function wholeSchedule(random: () => number): readonly number[] {
  const waits: number[] = []
  let passedMs = 0
  for (;;) {
    const wait = waitSeconds(waits.length + 1, random)
    passedMs += wait * 1_000
    if (passedMs > defaultRetryPolicy.windowMs) return waits
    waits.push(wait)
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
    'waits between $shortest and $longest s after attempt $attempts, with jitter',
    ({ attempts, shortest, longest }) => {
      expect(waitSeconds(attempts, () => 0)).toBe(shortest)
      expect(waitSeconds(attempts, () => almostOne)).toBe(longest)
    },
  )

  test('makes nine retries in four hours', () => {
    expect(defaultRetryPolicy.windowMs).toBe(4 * 60 * 60 * 1_000)
    expect(wholeSchedule(withoutJitter)).toEqual([
      10, 25, 62.5, 156.25, 390.625, 976.563, 2_441.406, 3_600, 3_600,
    ])
  })

  test('makes nine or ten retries, depending on the jitter', () => {
    expect(wholeSchedule(() => 0)).toHaveLength(10)
    expect(wholeSchedule(() => almostOne)).toHaveLength(9)
  })

  test('counts each wait from the end of the round, in whole milliseconds', () => {
    const later = { attempts: 6, endedAtMs: endedAtMs + 5_001 }
    expect(nextAttemptAtMs(defaultRetryPolicy, later, withoutJitter)).toBe(
      endedAtMs + 5_001 + 976_563,
    )
  })
})

test('a wait is never shorter or longer than the jitter allows', () => {
  const { firstDelayMs, factor, delayMsMax, jitter } = defaultRetryPolicy
  const randoms = fc.double({ min: 0, max: almostOne, noNaN: true })
  const property = fc.property(fc.integer({ min: 1, max: 2_000 }), randoms, (attempts, random) => {
    const delayMs = Math.min(firstDelayMs * factor ** (attempts - 1), delayMsMax)
    const waitMs = 1_000 * waitSeconds(attempts, () => random)
    expect(waitMs).toBeGreaterThanOrEqual(Math.floor(delayMs * (1 - jitter)))
    expect(waitMs).toBeLessThanOrEqual(Math.ceil(delayMs * (1 + jitter)))
  })
  fc.assert(property)
})
