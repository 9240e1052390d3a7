import fc from 'fast-check'
import { expect, test } from 'vitest'
import { MatchError, parseExpectation, parseMatch } from '../../src/match/index.ts'
import { fieldNames } from '../../src/match/field.ts'
import { group, order, subject } from './subjects.ts'

/** Texts built from parts of the language, valid and invalid. */
const nearlyMatches = fc
  .array(
    fc.constantFrom(
      ...fieldNames,
      ...['has', 'properties', 'props', 'traits', 'body', 'context', 'track', 'valid'],
      ...['x3', 'x1..5', 'x3..', 'x', 'never', 'within', '2s', '503', '5xx', '2kb', '10', '-5'],
      ...['..', '.', ':', ':', ':', ',', '-', '>', '>=', '<', '=', '!', '*', '"', "'", '\\', '\\"'],
      ...[
        ' ',
        ' ',
        '\t',
        '\n',
        'a',
        'Order',
        'true',
        'null',
        '🔑',
        '\ud83d',
        '\u202e',
        '__proto__',
      ],
    ),
    { maxLength: 20 },
  )
  .map((pieces) => pieces.join(''))

const anyText = fc.oneof(nearlyMatches, fc.string({ unit: 'binary' }), fc.string())

const value = fc.oneof(
  fc.string({ unit: 'binary' }).map((text) => `"${text.replace(/["\\]/g, '\\$&')}"`),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => JSON.stringify(number)),
  fc.tuple(fc.nat(), fc.nat()).map(([low, more]) => `${low}..${low + more}`),
  fc.constantFrom('true', 'null', 'Order*', '>10', '<=-0.5', '..3', '3..', '=x', "'a b'", 'a\\,b'),
)
const values = fc.array(value, { minLength: 1, maxLength: 3 }).map((list) => list.join(','))
const key = fc.oneof(
  fc.stringMatching(/^[a-z]{1,8}$/),
  fc.string({ unit: 'binary' }).map((text) => `"${text.replace(/["\\]/g, '\\$&')}"`),
)
const fieldName = fc
  .tuple(fc.constantFrom('properties', 'traits', 'context', 'body'), key, key)
  .map((keys) => keys.join('.'))
const term = fc.oneof(
  fc.tuple(fieldName, values).map(([field, list]) => `${field}:${list}`),
  fieldName.map((field) => `has:${field}`),
  fc.string({ unit: 'binary' }).map((text) => `"${text.replace(/["\\]/g, '\\$&')}"`),
  fc.constantFrom(
    'type:track,page',
    'sig:invalid',
    'status:4xx',
    'bytes:>2kb',
    'userId:*',
    'path:/a',
  ),
)
const matchText = fc
  .array(fc.tuple(fc.constantFrom('', '-'), term), { minLength: 1, maxLength: 5 })
  .map((terms) => terms.map((parts) => parts.join('')).join(' '))

test('a formatted match parses as the same match', () => {
  fc.assert(
    fc.property(matchText, (text) => {
      const match = parseMatch(text)
      expect(parseMatch(match.text)).toEqual(match)
      expect(parseMatch(match.text).text).toBe(match.text)
    }),
    { numRuns: 500 },
  )
})

test('a formatted expectation parses as the same expectation', () => {
  const count = fc.oneof(
    fc.nat().map((exact) => `x${exact}`),
    fc.tuple(fc.nat(), fc.nat()).map(([low, more]) => `x${low}..${low + more}`.slice(0, 20)),
    fc.nat().map((low) => `x${low}..`),
    fc.constantFrom('', 'never'),
  )
  const within = fc.oneof(
    fc.constant(''),
    fc.integer({ min: 1, max: 9_999_999 }).map((durationMs) => `within ${durationMs}ms`),
    fc.integer({ min: 1, max: 999 }).map((minutes) => `within ${minutes}m`),
  )
  fc.assert(
    fc.property(matchText, count, within, (text, howMany, howSoon) => {
      const expectation = readable(() => parseExpectation(`${text} ${howMany} ${howSoon}`))
      if (expectation !== undefined) {
        expect(parseExpectation(expectation.text)).toEqual(expectation)
      }
    }),
  )
})

test('any text is parsed, or refused at a position in it, and a parsed match can test any request', () => {
  fc.assert(
    fc.property(anyText, (text) => {
      const match = readable(() => parseMatch(text))
      const expectation = readable(() => parseExpectation(text))
      for (const request of [subject(order), subject(group), subject(null)]) {
        expect(typeof match?.test(request)).toBe(match === undefined ? 'undefined' : 'boolean')
      }
      // A match is also an expectation, with the same meaning.
      if (match !== undefined) {
        expect(expectation?.match).toEqual(match)
        expect(parseMatch(match.text)).toEqual(match)
      }
    }),
    { numRuns: 1_000 },
  )

  function checkRange(error: MatchError, text: string): void {
    expect(error.offset).toBeLessThanOrEqual(text.length)
    expect(error.offset + error.length).toBeLessThanOrEqual(text.length)
  }
  fc.assert(
    fc.property(anyText, (text) => {
      for (const read of [parseMatch, parseExpectation]) {
        try {
          read(text)
        } catch (error) {
          expect(error).toBeInstanceOf(MatchError)
          checkRange(error as MatchError, text)
          expect((error as MatchError).excerpt.split('\n')).toHaveLength(2)
        }
      }
    }),
    { numRuns: 1_000 },
  )
})

/** Returns the parsed value, or undefined if it was refused with a MatchError. */
function readable<Result>(read: () => Result): Result | undefined {
  try {
    return read()
  } catch (error) {
    expect(error).toBeInstanceOf(MatchError)
    return undefined
  }
}
