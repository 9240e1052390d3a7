import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { parseRetryAfter } from '../../src/model/index.ts'

/** Sun, 06 Nov 1994 08:49:37 GMT, the example of the HTTP standard for its three date formats. */
const momentMs = Date.UTC(1994, 10, 6, 8, 49, 37)
const minuteBeforeMs = momentMs - 60_000

describe('parseRetryAfter', () => {
  test.each([
    ['0', 0],
    ['1', 1_000],
    ['120', 120_000],
    ['007', 7_000],
    [' 5 ', 5_000],
    ['999999999', 999_999_999_000],
  ])('reads %j as seconds', (header, expectedMs) => {
    expect(parseRetryAfter(header, momentMs)).toBe(expectedMs)
  })

  describe('in any time zone', () => {
    const zone = process.env['TZ']
    beforeEach(() => {
      process.env['TZ'] = 'America/New_York'
    })
    afterEach(() => {
      if (zone === undefined) delete process.env['TZ']
      else process.env['TZ'] = zone
    })

    test.each([
      'Sun, 06 Nov 1994 08:49:37 GMT',
      'Sunday, 06-Nov-94 08:49:37 GMT',
      'Sun Nov  6 08:49:37 1994',
      'Sun, 06 Nov 1994 08:49:37 +0000',
    ])('reads %j as a date', (header) => {
      expect(parseRetryAfter(header, minuteBeforeMs)).toBe(60_000)
    })
  })

  test('returns 0 if the date has passed', () => {
    expect(parseRetryAfter('Sun, 06 Nov 1994 08:49:37 GMT', momentMs + 1)).toBe(0)
  })

  test.each([
    undefined,
    '',
    ' ',
    '-1',
    '+1',
    '1.5',
    '1e3',
    '0x10',
    '1 second',
    '10000000000',
    'soon',
    'Infinity',
    'Sunshine 5',
    'Sun 2050',
    'Sun, 99 Nov 1994 08:49:37 GMT',
    'Sun, 06 Nov 1994 08:49:37',
    '1994-11-06T08:49:37Z',
  ])('returns undefined for %j', (header) => {
    expect(parseRetryAfter(header, minuteBeforeMs)).toBeUndefined()
  })

  test('never throws, and returns undefined or a whole number of milliseconds that is not negative', () => {
    const header = fc.oneof(fc.string(), fc.integer().map(String), fc.date().map(String))
    fc.assert(
      fc.property(header, (text) => {
        const waitMs = parseRetryAfter(text, momentMs)
        expect(waitMs === undefined || (Number.isSafeInteger(waitMs) && waitMs >= 0)).toBe(true)
      }),
    )
  })
})
