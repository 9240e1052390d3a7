import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { formatDuration, parseDuration } from '../../src/model/index.ts'

describe('parseDuration', () => {
  test.each([
    ['0s', 0],
    ['500ms', 500],
    ['5s', 5_000],
    ['1.5m', 90_000],
    ['4h', 14_400_000],
    ['1d', 86_400_000],
    ['0.5ms', 1],
    [' 5s ', 5_000],
  ])('reads %j', (text, expectedMs) => {
    expect(parseDuration(text)).toBe(expectedMs)
  })

  test.each([
    '',
    '5',
    's',
    '-5s',
    '+5s',
    '5 s',
    '5S',
    '5sec',
    '1h30m',
    '.5s',
    '5.s',
    '1e3s',
    '5s\n5s',
  ])('refuses %j', (text) => {
    expect(parseDuration(text)).toBeUndefined()
  })

  test('refuses a duration whose milliseconds would not be a safe integer', () => {
    expect(parseDuration(`${Number.MAX_SAFE_INTEGER}ms`)).toBe(Number.MAX_SAFE_INTEGER)
    expect(parseDuration(`${Number.MAX_SAFE_INTEGER}s`)).toBeUndefined()
    expect(parseDuration(`${'9'.repeat(400)}d`)).toBeUndefined()
  })
})

describe('formatDuration', () => {
  test.each([
    [0, '0ms'],
    [0.4, '0ms'],
    [480, '480ms'],
    [999.4, '999ms'],
    [999.7, '1s'],
    [1_000, '1s'],
    [1_250, '1.2s'],
    [5_000, '5s'],
    [59_999, '59.9s'],
    [60_000, '1m'],
    [150_999, '2m 30s'],
    [3_599_999, '59m 59s'],
    [3_600_000, '1h'],
    [13_560_000, '3h 46m'],
    [13_619_999, '3h 46m'],
    [90_000_000, '25h'],
  ])('writes %d ms', (durationMs, text) => {
    expect(formatDuration(durationMs)).toBe(text)
  })

  test.each([
    ['ms', 1, 999],
    ['s', 1_000, 59],
    ['m', 60_000, 59],
    ['h', 3_600_000, 1_000],
  ])('writes whole %s so that parseDuration reads them', (unit, unitMs, countMax) => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: countMax }), (count) => {
        expect(formatDuration(count * unitMs)).toBe(`${count}${unit}`)
        expect(parseDuration(`${count}${unit}`)).toBe(count * unitMs)
      }),
    )
  })
})
