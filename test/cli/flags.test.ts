import { describe, expect, test } from 'vitest'
import {
  countFlag,
  duration,
  durationUpTo,
  headerFlag,
  integrationFlag,
  repeatable,
  timestampFlag,
} from '../../src/cli/flags.ts'

describe('flags', () => {
  test('reads durations as milliseconds', () => {
    expect(duration('1.5m')).toBe(90_000)
    expect(() => duration('5')).toThrow('500ms, 5s, 1.5m or 4h')
    expect(() => duration('-5s')).toThrow('500ms, 5s, 1.5m or 4h')
  })

  test('reads durations up to a limit', () => {
    expect(durationUpTo(1_000)('1s')).toBe(1_000)
    expect(() => durationUpTo(1_000)('1001ms')).toThrow('at most 1s')
  })

  test('reads whole numbers within bounds', () => {
    const count = countFlag(1, 10)
    expect([count('1'), count('10')]).toEqual([1, 10])
    for (const text of ['0', '11', '1.5', '1e1', '-1', '', ' 1', '0x1']) {
      expect(() => count(text)).toThrow('whole number from 1 to 10')
    }
  })

  test('keeps the text of a timestamp', () => {
    expect(timestampFlag('2026-11-20')).toBe('2026-11-20')
    expect(() => timestampFlag('yesterday')).toThrow('2026-11-20T10:15:00Z')
  })

  test('collects repeated values', () => {
    expect(repeatable('b', repeatable('a'))).toEqual(['a', 'b'])
  })

  test('reads headers; the last of a name wins', () => {
    const first = headerFlag('X-Team: growth')
    expect(headerFlag('X-Path:a:b', first)).toEqual({ 'X-Team': 'growth', 'X-Path': 'a:b' })
    expect(headerFlag('x-team: sales', first)).toEqual({ 'x-team': 'sales' })
    expect(() => headerFlag('X-Team')).toThrow('"Name: value"')
    expect(() => headerFlag(': value')).toThrow('"Name: value"')
  })

  test('reads integrations', () => {
    const first = integrationFlag('All=false')
    expect(integrationFlag('Webhooks=true', first)).toEqual({ All: false, Webhooks: true })
    for (const text of ['All', 'All=yes', '=true']) {
      expect(() => integrationFlag(text)).toThrow('Name=true or Name=false')
    }
  })
})
