import { runInNewContext } from 'node:vm'
import { describe, expect, test } from 'vitest'
import { SettingError, type JsonObject } from '../../src/model/index.ts'
import { matchOf, type ExpectedBody, type ExpectedValue } from '../../src/match/index.ts'
import { group, order, subject } from './subjects.ts'

/** Returns whether a body with only this member matches. */
function holds(expected: ExpectedValue, received: JsonObject[string]): boolean {
  return matchOf({ a: expected }).test(subject({ a: received }))
}

describe('matchOf', () => {
  test('matches a body that has the expected members, whatever else it has', () => {
    const match = matchOf({
      type: 'track',
      event: 'Order Completed',
      properties: { revenue: '39.95', quantity: 3, coupon: null, gift: true },
    })
    expect(match.test(subject(order))).toBe(true)
    expect(match.test(subject(group))).toBe(false)
    expect(match.test(subject(null))).toBe(false)
  })

  test.each<[string, ExpectedValue, JsonObject[string], boolean]>([
    ['a number is not a string', 10, '10', false],
    ['a string is not a number', '10', 10, false],
    ['an asterisk is literal', 'a*', 'ab', false],
    ['null is null', null, null, true],
    ['null is not absent', null, undefined, false],
    ['false is not null', false, null, false],
    ['undefined is absent', undefined, undefined, true],
    ['undefined is not null', undefined, null, false],
    ['an object may have more members', { b: 1 }, { b: 1, c: 2 }, true],
    ['an object must have all members', { b: 1, c: 2 }, { b: 1 }, false],
    ['an empty object matches any object', {}, { b: 1 }, true],
    ['an object is not an array', {}, [], false],
    ['an object is not a text', {}, 'b', false],
    ['an array equals an array with the same elements', [1, 'b'], [1, 'b'], true],
    ['an array must not be longer', [1], [1, 2], false],
    ['an array must not be shorter', [1, 2], [1], false],
    ['an array must have the same order', [1, 2], [2, 1], false],
    ['an array is not an object', [1], { 0: 1 }, false],
    ['objects in an array may have more members', [{ b: 1 }], [{ b: 1, c: 2 }], true],
    ['objects in an array must match', [{ b: 1 }], [{ b: 2 }], false],
    ['an absent member in an array', [{ b: undefined }], [{ c: 1 }], true],
    ['a present member in an array', [{ b: undefined }], [{ b: 1 }], false],
    ['a text is not an object', [{ b: 1 }], ['b'], false],
    ['a pattern', /^or/i, 'Order', true],
    ['a pattern that does not match', /^or/, 'Order', false],
    ['a pattern matches only texts', /1/, 1, false],
    ['a predicate that returns true', (value: number) => value > 10, 11, true],
    ['a predicate that returns false', (value: number) => value > 10, 10, false],
    ['a predicate that throws', (value: { b: { c: number } }) => value.b.c === 1, {}, false],
    ['a predicate in an array', [(value: number) => value > 10], [11], true],
    ['a matcher of vitest', expect.any(Number) as ExpectedValue, 1, true],
    [
      'a matcher of vitest that does not match',
      expect.stringContaining('b') as ExpectedValue,
      'a',
      false,
    ],
    [
      'a matcher of vitest in an array',
      [expect.objectContaining({ b: 1 })],
      [{ b: 1, c: 2 }],
      true,
    ],
  ])('%s', (_name, expected, ...[received, isMatch]) => {
    const body: JsonObject = received === undefined ? { c: 1 } : { a: received }
    expect(matchOf({ a: expected }).test(subject(body))).toBe(isMatch)
  })

  test('a pattern with the flags g or y matches every time', () => {
    const match = matchOf({ a: /b/g, c: /b/y })
    for (let time = 0; time < 3; time += 1) {
      expect(match.test(subject({ a: 'xb', c: 'b' }))).toBe(true)
    }
  })

  test('copies what the caller could change later', () => {
    const items = [1]
    const expected = { a: { b: 1 }, c: items }
    const match = matchOf(expected)
    expected.a.b = 2
    items.push(2)
    expect(match.test(subject({ a: { b: 1 }, c: [1] }))).toBe(true)
  })

  test('without members matches every webhook', () => {
    expect(matchOf({}).test(subject(order))).toBe(true)
    expect(matchOf({}).test(subject(null))).toBe(false)
  })

  test('reads only own properties of a body', () => {
    expect(holds({ constructor: expect.anything() as ExpectedValue }, {})).toBe(false)
    const expected = JSON.parse('{"a":{"__proto__":{"b":1}}}') as ExpectedBody
    expect(
      matchOf(expected).test(subject(JSON.parse('{"a":{"__proto__":{"b":1}}}') as never)),
    ).toBe(true)
    expect(matchOf(expected).test(subject({ a: { b: 1 } }))).toBe(false)
  })

  test('accepts objects and patterns of other realms', () => {
    const expected = runInNewContext('({ a: { b: /c/ } })') as ExpectedBody
    expect(matchOf(expected).test(subject({ a: { b: 'c' } }))).toBe(true)
  })

  test('describes what it expects', () => {
    const isLarge = (value: number): boolean => value > 10
    const expected = {
      type: 'track',
      userId: undefined,
      'Previous ID': /^a/,
      properties: { revenue: isLarge, list: [1, 'd', { b: undefined, c: () => true }], of: {} },
      traits: { plan: expect.any(String) as ExpectedValue },
    }
    expect(matchOf(expected).text).toBe(
      'type:track -has:userId "Previous ID":/^a/ properties.revenue:isLarge ' +
        'properties.list:[1, "d", {"b": absent, "c": () => true}] properties.of:{} traits.plan:Any<String>',
    )
  })

  test.each<[string, unknown, string]>([
    ['null', null, 'body'],
    ['an array', [], 'body'],
    ['a date', { a: { when: new Date(0) } }, 'a.when'],
    ['a map', { a: [new Map()] }, 'a.0'],
    ['not a number', { a: NaN }, 'a'],
    ['infinity', { a: { 'b c': -Infinity } }, 'a."b c"'],
    ['a bigint', { a: 1n }, 'a'],
    // Its promise is truthy for every value.
    ['an async predicate', { a: async () => Promise.resolve(false) }, 'a'],
    ['a symbol', { a: Symbol('a') }, 'a'],
    ['a hole in an array', { a: [undefined] }, 'a.0'],
  ])('refuses %s', (_name, expected, setting) => {
    expect(() => matchOf(expected as ExpectedBody)).toThrow(
      expect.objectContaining({ code: 'invalid_setting', setting }) as Error,
    )
  })

  test('refuses circular objects and arrays', () => {
    const circle: Record<string, ExpectedValue> = {}
    circle['a'] = circle
    expect(() => matchOf(circle)).toThrow(SettingError)
    const list: ExpectedValue[] = []
    list.push([{ list }])
    expect(() => matchOf({ list })).toThrow('more than 32 levels deep')
  })
})
