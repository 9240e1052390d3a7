import { describe, expect, test } from 'vitest'
import {
  atLeastOnce,
  countText,
  expectationOf,
  parseExpectation,
  parseMatch,
} from '../../src/match/index.ts'

describe('an expectation reads', () => {
  test.each<[string, number, number, number | undefined, string]>([
    ['type:track', 1, Infinity, undefined, 'type:track'],
    ['type:track x3', 3, 3, undefined, 'type:track x3'],
    ['type:track x3..', 3, Infinity, undefined, 'type:track x3..'],
    ['type:track x1..', 1, Infinity, undefined, 'type:track'],
    ['type:track x1..5', 1, 5, undefined, 'type:track x1..5'],
    ['type:track x0..5', 0, 5, undefined, 'type:track x0..5'],
    ['type:track x0..', 0, Infinity, undefined, 'type:track x0..'],
    ['type:track never', 0, 0, undefined, 'type:track never'],
    ['type:track x0', 0, 0, undefined, 'type:track never'],
    ['type:track within 2s', 1, Infinity, 2_000, 'type:track within 2s'],
    ['type:track never within 1.5s', 0, 0, 1_500, 'type:track never within 1500ms'],
    ['type:track  within\t1m x2 ', 2, 2, 60_000, 'type:track x2 within 60s'],
    ['* x1000000000', 1e9, 1e9, undefined, '* x1000000000'],
  ])('%j', (text, ...[atLeast, atMost, withinMs, written]) => {
    const expectation = parseExpectation(text)
    expect(expectation).toMatchObject({ count: { atLeast, atMost }, withinMs, text: written })
    expect(expectation.match.text).toBe(text.split(/\s/)[0])
  })

  test('quoted words that would otherwise be a count', () => {
    const { match, count } = parseExpectation('"never" "x3" "within" x2')
    expect(match).toEqual(parseMatch('"never" "x3" "within"'))
    expect(count).toEqual({ atLeast: 2, atMost: 2 })
  })

  test('words that only begin like a count', () => {
    expect(parseExpectation('xray x.com nevermore').match.terms).toHaveLength(3)
  })
})

test('an expectation made of a match reads the same', () => {
  const match = parseMatch('type:track')
  expect(expectationOf(match)).toEqual(parseExpectation('type:track'))
  expect(expectationOf(match, { atLeast: 2, atMost: 4 }, 250)).toEqual(
    parseExpectation('type:track x2..4 within 250ms'),
  )
})

test.each([
  [atLeastOnce, 'at least 1'],
  [{ atLeast: 0, atMost: 0 }, 'none'],
  [{ atLeast: 3, atMost: 3 }, 'exactly 3'],
  [{ atLeast: 1, atMost: 5 }, '1 to 5'],
  [{ atLeast: 0, atMost: 5 }, 'at most 5'],
])('%j is written as %s', (count, text) => {
  expect(countText(count)).toBe(text)
})
