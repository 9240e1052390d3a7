import { runInNewContext } from 'node:vm'
import { describe, expect, test } from 'vitest'
import { SettingError, type JsonObject } from '../../src/model/index.ts'
import { matchOf, type ExpectedBody, type ExpectedValue } from '../../src/match/index.ts'
import { group, order, subject } from './subjects.ts'

/** Whether a body with this one member matches. */
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
    ['a number is no string', 10, '10', false],
    ['a string is no number', '10', 10, false],
    ['an asterisk is one', 'a*', 'ab', false],
    ['null is null', null, null, true],
    ['null is not nothing', null, undefined, false],
    ['false is not null', false, null, false],
    ['undefined is nothing', undefined, undefined, true],
    ['undefined is not null', undefined, null, false],
    ['an object has more', { b: 1 }, { b: 1, c: 2 }, true],
    ['an object has less', { b: 1, c: 2 }, { b: 1 }, false],
    ['an object without members', {}, { b: 1 }, true],
    ['an object is no array', {}, [], false],
    ['an object is no text', {}, 'b', false],
    ['an array', [1, 'b'], [1, 'b'], true],
    ['an array that is longer', [1], [1, 2], false],
    ['an array that is shorter', [1, 2], [1], false],
    ['an array in another order', [1, 2], [2, 1], false],
    ['an array is no object', [1], { 0: 1 }, false],
    ['objects in an array have more', [{ b: 1 }], [{ b: 1, c: 2 }], true],
    ['objects in an array differ', [{ b: 1 }], [{ b: 2 }], false],
    ['what is not there in an array', [{ b: undefined }], [{ c: 1 }], true],
    ['what is there in an array', [{ b: undefined }], [{ b: 1 }], false],
    ['a text in place of an object', [{ b: 1 }], ['b'], false],
    ['a pattern', /^or/i, 'Order', true],
    ['a pattern that is not there', /^or/, 'Order', false],
    ['a pattern looks at texts', /1/, 1, false],
    ['a predicate', (value: number) => value > 10, 11, true],
    ['a predicate that refuses', (value: number) => value > 10, 10, false],
    ['a predicate that throws', (value: { b: { c: number } }) => value.b.c === 1, {}, false],
    ['a predicate in an array', [(value: number) => value > 10], [11], true],
    ["vitest's matchers", expect.any(Number) as ExpectedValue, 1, true],
    ["vitest's matchers that refuse", expect.stringContaining('b') as ExpectedValue, 'a', false],
    ["vitest's matchers inside", [expect.objectContaining({ b: 1 })], [{ b: 1, c: 2 }], true],
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

  test('reads own properties of a body only', () => {
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

  test('describes what it looks for', () => {
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
    ['no object', null, 'body'],
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
