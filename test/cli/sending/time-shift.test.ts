import { describe, expect, test } from 'vitest'
import { parseTimeShift } from '../../../src/cli/sending/captured-request.ts'
import { timeShift } from '../../../src/cli/sending/capture-outlet.ts'
import { ManualClock } from '../../../src/runtime/index.ts'

const nowMs = Date.parse('2027-01-01T00:00:00.000Z')
const shift = (by: 'now' | number) => timeShift(by, new ManualClock(nowMs))

describe('parseTimeShift', () => {
  test.each([
    ['now', 'now'],
    ['2h', 7_200_000],
    ['+2h', 7_200_000],
    ['-7d', -604_800_000],
    ['soon', undefined],
    ['', undefined],
    ['--2h', undefined],
    ['5', undefined],
  ])('reads %j as %j', (text, by) => {
    expect(parseTimeShift(text)).toBe(by)
  })
})

describe('timeShift', () => {
  test('shifts the times in the body and changes no other byte', () => {
    const text = `{ "type":"track" ,"big":12345678901234567890,"properties":{"timestamp":"2026-10-01"},
      "timestamp" : "2026-10-01T00:00:00.000Z", "sentAt":"2026-10-01T00:00:02Z", "2":1,"1":2,
      "list":["timestamp","2026-10-01"], "originalTimestamp":"2026-09-30T23:00:00.000Z","a\\"":"}\\u00e9" }`
    expect(shift(3_600_000)(text)).toBe(
      text
        .replace('"2026-10-01T00:00:00.000Z"', '"2026-10-01T01:00:00.000Z"')
        .replace('"2026-10-01T00:00:02Z"', '"2026-10-01T01:00:02.000Z"')
        .replace('"2026-09-30T23:00:00.000Z"', '"2026-10-01T00:00:00.000Z"'),
    )
  })

  test('sets the first timestamp to now, and keeps the gaps between timestamps', () => {
    const moved = shift('now')
    const bodies = [
      '{"sentAt":"2026-10-01T00:00:05Z","timestamp":"2026-10-01T00:00:00Z"}',
      '{"timestamp":"2026-10-01T00:01:00Z"}',
    ].map((text) => JSON.parse(moved(text)) as unknown)
    expect(bodies).toEqual([
      { sentAt: '2027-01-01T00:00:05.000Z', timestamp: '2027-01-01T00:00:00.000Z' },
      { timestamp: '2027-01-01T00:01:00.000Z' },
    ])
  })

  test('does not change a body without a time, and starts with the first that has one', () => {
    const moved = shift('now')
    const without = [
      '{"timestamp":"noon","sentAt":5}',
      '["timestamp"]',
      '{"a":{"timestamp":"2026"}}',
    ]
    expect(without.map((text) => moved(text))).toEqual(without)
    expect(moved('{"timestamp":"2026-10-01"}')).toBe('{"timestamp":"2027-01-01T00:00:00.000Z"}')
  })

  test('finds a name with escape sequences', () => {
    expect(shift(1_000)('{"time\\u0073tamp":"2026-10-01T00:00:00Z"}')).toBe(
      '{"time\\u0073tamp":"2026-10-01T00:00:01.000Z"}',
    )
  })

  test('finds the times after a byte order mark', () => {
    expect(shift(1_000)('\ufeff{"timestamp":"2026-10-01T00:00:00Z"}')).toBe(
      '\ufeff{"timestamp":"2026-10-01T00:00:01.000Z"}',
    )
  })

  test('stays within valid timestamps', () => {
    expect(() => shift(Number.MAX_SAFE_INTEGER)('{"timestamp":"2026-10-01"}')).not.toThrow()
  })
})
