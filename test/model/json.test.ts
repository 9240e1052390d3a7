import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  isJsonObject,
  isNestedDeeper,
  isTextNestedDeeper,
  recordLine,
} from '../../src/model/index.ts'

test('isJsonObject is true for objects, not for arrays or null', () => {
  expect([{}, { a: 1 }, Object.create(null)].map(isJsonObject)).toEqual([true, true, true])
  expect([[], null, undefined, 'text', 7, true].some(isJsonObject)).toBe(false)
})

const nested = (levels: number, open: string, close: string): unknown =>
  JSON.parse(`${open.repeat(levels - 1)}{}${close.repeat(levels - 1)}`)

describe('isNestedDeeper', () => {
  test.each([1, 'text', true, null, undefined])('counts no level in %j', (value) => {
    expect(isNestedDeeper(value, 0)).toBe(false)
  })

  test('counts an empty object or array as a level, and counts along the deepest member', () => {
    expect(isNestedDeeper([], 0)).toBe(true)
    expect(isNestedDeeper([], 1)).toBe(false)
    expect(isNestedDeeper({ a: 1, b: [[]], c: {} }, 2)).toBe(true)
    expect(isNestedDeeper({ a: 1, b: [[]], c: {} }, 3)).toBe(false)
  })

  test.each([
    ['objects', '{"a":', '}'],
    ['arrays', '[', ']'],
  ])('detects one level of %s too many, and any number too many', (_name, open, close) => {
    expect(isNestedDeeper(nested(500, open, close), 500)).toBe(false)
    expect(isNestedDeeper(nested(501, open, close), 500)).toBe(true)
    expect(isNestedDeeper(nested(100_000, open, close), 500)).toBe(true)
  })
})

describe('recordLine', () => {
  test('has no character that controls a terminal or ends the line early', () => {
    const record = { event: 'a\u001b[2J\u009b31m\u202e\u2028\u2029\u007f ü 🙂', userId: 'u_1' }
    const line = recordLine(record)
    expect(line.trimEnd()).toMatch(/^[^\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+$/u)
    expect(JSON.parse(line)).toEqual({ v: 1, ...record })
  })
})

describe('isTextNestedDeeper', () => {
  test('agrees with isNestedDeeper of the parsed text', () => {
    const limits = fc.integer({ min: 0, max: 4 })
    const property = fc.property(fc.json(), limits, (json, levelsMax) => {
      const padded = json + ' '.repeat(2 * levelsMax)
      expect(isTextNestedDeeper(padded, levelsMax)).toBe(
        isNestedDeeper(JSON.parse(json), levelsMax),
      )
    })
    fc.assert(property)
  })

  test('ignores brackets in strings, even after escaped quotes', () => {
    const text = String.raw`{"a\\\"[[[":"}]\"[{[{"}`
    expect(isTextNestedDeeper(text, 1)).toBe(false)
    expect(isTextNestedDeeper(text, 0)).toBe(true)
  })
})
