import { describe, expect, test } from 'vitest'
import { formatMoment, formatSecond, formatSpan } from '../../../src/cli/output/moments.ts'

const nowMs = new Date(2026, 10, 20, 10, 30, 5, 207).getTime()

describe('formatSpan', () => {
  test.each([
    [-5_000, '0s'],
    [0, '0s'],
    [999, '0s'],
    [1_000, '1s'],
    [59_999, '59s'],
    [60_000, '1m'],
    [3_599_999, '59m'],
    [3_600_000, '1h'],
    [86_399_999, '23h'],
    [86_400_000, '1d'],
    [90 * 86_400_000, '90d'],
  ])('writes %d ms as %s', (durationMs, text) => {
    expect(formatSpan(durationMs)).toBe(text)
  })
})

describe('formatMoment', () => {
  test('leaves out the date of today', () => {
    expect(formatMoment(nowMs, nowMs)).toBe('10:30:05.207')
    expect(formatSecond(nowMs, nowMs)).toBe('10:30:05')
    expect(formatSecond(new Date(2026, 10, 19, 10, 30, 5).getTime(), nowMs)).toBe(
      '2026-11-19 10:30:05',
    )
    expect(formatSecond(new Date(2025, 10, 20, 10, 30, 5).getTime(), nowMs)).toBe(
      '2025-11-20 10:30:05',
    )
  })

  test('survives times outside the range of dates', () => {
    expect(formatMoment(1e300, nowMs)).toMatch(/^275760-09-13 /)
  })
})
