import { describe, expect, test } from 'vitest'
import { retryDelayMs } from '../../src/client/retry-policy.ts'

const delays = (random: number) =>
  [1, 2, 3, 4, 5, 6, 7, 8, 9].map((attempt) =>
    retryDelayMs({ attempt, afterMs: undefined }, random),
  )

describe('retryDelayMs', () => {
  test('doubles from 100 ms to 10 s, minus a random half', () => {
    expect(delays(1 - 1e-9)).toEqual([100, 200, 400, 800, 1_600, 3_200, 6_400, 10_000, 10_000])
    expect(delays(0.5)).toEqual([75, 150, 300, 600, 1_200, 2_400, 4_800, 7_500, 7_500])
    expect(delays(0)).toEqual([50, 100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000])
  })

  test('waits as long as Retry-After says, up to 5 minutes', () => {
    expect(retryDelayMs({ attempt: 1, afterMs: 2_000 }, 0.5)).toBe(2_000)
    expect(retryDelayMs({ attempt: 1, afterMs: 3_600_000 }, 0.5)).toBe(300_000)
  })

  test('does not retry sooner because of a short Retry-After', () => {
    expect(retryDelayMs({ attempt: 4, afterMs: 0 }, 0.5)).toBe(600)
  })
})
