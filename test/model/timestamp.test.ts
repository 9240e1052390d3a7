import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { formatTimestamp, hasFourDigitYear, parseTimestamp } from '../../src/model/index.ts'

function read(value: unknown): string | undefined {
  const instantMs = parseTimestamp(value)
  return instantMs === undefined ? undefined : formatTimestamp(instantMs)
}

describe('parseTimestamp', () => {
  test.each([
    ['2026-11-20T10:10:35.638Z', '2026-11-20T10:10:35.638Z'],
    ['2026-11-20T10:15:56.674+00:00', '2026-11-20T10:15:56.674Z'],
    ['2026-11-20T10:15:25+0000', '2026-11-20T10:15:25.000Z'],
    ['2026-11-20T10:15:25.441747389Z', '2026-11-20T10:15:25.441Z'],
    ['2026-11-20T10:15:25.999999Z', '2026-11-20T10:15:25.999Z'],
    ['2026-11-20T10:15:25.4Z', '2026-11-20T10:15:25.400Z'],
    ['2026-11-20T10:15:25Z', '2026-11-20T10:15:25.000Z'],
    ['2026-11-20T10:15Z', '2026-11-20T10:15:00.000Z'],
    ['2026-11-20', '2026-11-20T00:00:00.000Z'],
    ['2015-2-02T00:30:08.276Z', '2015-02-02T00:30:08.276Z'],
    ['2015-12-2T7:30:08Z', '2015-12-02T07:30:08.000Z'],
    ['2026-11-20 10:15:25', '2026-11-20T10:15:25.000Z'],
    ['2026-11-20 10:15:25 +0000', '2026-11-20T10:15:25.000Z'],
    ['2026-11-20 10:15:25+00', '2026-11-20T10:15:25.000Z'],
    ['2026-11-20t10:15:25z', '2026-11-20T10:15:25.000Z'],
    ['2026-11-20T10:15:25,5Z', '2026-11-20T10:15:25.500Z'],
    ['2026-11-20 10:15:25 UTC', '2026-11-20T10:15:25.000Z'],
    [' 2026-11-20T10:15:25Z\n', '2026-11-20T10:15:25.000Z'],
  ])('reads %j', (text, expected) => {
    expect(read(text)).toBe(expected)
  })

  test.each([
    ['2026-11-20T10:15:00+05:30', '2026-11-20T04:45:00.000Z'],
    ['2026-11-20T10:15:00-0800', '2026-11-20T18:15:00.000Z'],
    ['2026-12-31T23:30:00-01', '2027-01-01T00:30:00.000Z'],
    ['2026-01-01T00:30:00+01:00', '2025-12-31T23:30:00.000Z'],
  ])('applies the offset of %s', (text, expected) => {
    expect(read(text)).toBe(expected)
  })

  test.each(['2024-02-29', '2000-02-29', '2026-12-31', '0001-01-01'])(
    'accepts the day %s',
    (day) => {
      expect(read(day)).toBe(`${day}T00:00:00.000Z`)
    },
  )

  test.each([
    '2026-02-29',
    '1900-02-29',
    '2026-02-30',
    '2026-04-31',
    '2026-00-01',
    '2026-13-01',
    '2026-01-00',
    '2026-01-32',
    '2026-01-01T24:00:00Z',
    '2026-02-30T10:15:25.000Z',
    '2026-13-01T10:15:25.000Z',
    '2026-01-01T24:00:00.000Z',
    '2026-01-01T23:60:00.000Z',
    '2026-01-01T23:60:00Z',
    '2026-01-01T00:00:00+24:00',
    '2026-01-01T00:00:00+00:60',
    '9999-12-31T23:59:59-00:01',
    '0000-01-01T00:00:00+00:01',
  ])('refuses %s, which does not exist', (text) => {
    expect(parseTimestamp(text)).toBeUndefined()
  })

  test.each([
    'hello 5',
    '',
    '5',
    '1795169435638',
    'now',
    '20261120T101525Z',
    '11/20/2026',
    '2026-11-20T',
    '2026-11-20Z',
    '2026-11-20T10Z',
    '2026-11-20T10:15:25ZZ',
    '2026-11-20T10:15:25 CET',
    '+002026-11-20T10:15:25Z',
    1_795_169_435_638,
    null,
    undefined,
    true,
    {},
    ['2026-11-20'],
    new Date(NaN),
    new Date('+010000-01-01T00:00:00.000Z'),
  ])('refuses %j', (value) => {
    expect(parseTimestamp(value)).toBeUndefined()
  })

  test('reads a Date', () => {
    expect(parseTimestamp(new Date(1_234))).toBe(1_234)
  })

  test('reads what formatTimestamp writes', () => {
    const instant = fc.date({
      min: new Date('0000-01-01T00:00:00.000Z'),
      max: new Date('9999-12-31T23:59:59.999Z'),
      noInvalidDate: true,
    })
    fc.assert(
      fc.property(instant, (date) => {
        expect(parseTimestamp(formatTimestamp(date.getTime()))).toBe(date.getTime())
      }),
    )
  })

  test('never throws, and returns only times with a four-digit year', () => {
    const digits = fc.nat({ max: 99 }).map(String)
    const nearly = fc
      .tuple(fc.nat({ max: 9_999 }), digits, digits, digits, digits, fc.constantFrom('Z', '+0', ''))
      .map(
        ([year, month, day, hour, minute, zone]) =>
          `${String(year).padStart(4, '0')}-${month}-${day}T${hour}:${minute}:00${zone}${minute}`,
      )
    fc.assert(
      fc.property(fc.oneof(fc.anything(), fc.string(), nearly), (value) => {
        const instantMs = parseTimestamp(value)
        if (instantMs === undefined || value instanceof Date) return
        expect(formatTimestamp(instantMs)).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
      }),
    )
  })
})

test('hasFourDigitYear is true from the year 0 to the year 9999', () => {
  const first = Date.parse('0000-01-01T00:00:00.000Z')
  const last = Date.parse('9999-12-31T23:59:59.999Z')
  expect([first - 1, first, last, last + 1].map(hasFourDigitYear)).toEqual([
    false,
    true,
    true,
    false,
  ])
})
