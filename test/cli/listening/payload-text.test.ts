import { describe, expect, test } from 'vitest'
import { payloadText, formatJson } from '../../../src/cli/output/json.ts'
import { colorStyle, plainStyle } from '../../../src/cli/output/style.ts'
import type { JsonObject } from '../../../src/model/index.ts'

const textOf = (body: JsonObject, style = plainStyle) =>
  payloadText({ body, rawBody: Buffer.alloc(0) }, style)
const numbers = (count: number) => Array.from({ length: count }, (_, index) => index)

describe('payloadText', () => {
  test.each([true, false])('is the same JSON as in other output, in colour: %s', (color) => {
    const body = {
      'a "b": ': [1, -2.5e-7, true, null, [], {}],
      c: { d: 'true 1 null', '\u202e': '\u009b31m\u001b[31m\u007f' },
      e: [],
    }
    const style = color ? colorStyle() : plainStyle
    expect(textOf(body, style)).toBe(formatJson(body, style))
  })

  test('shows 200 lines, and the number of further ones', () => {
    expect(textOf({ a: numbers(196) }).split('\n')).toHaveLength(200)
    expect(textOf({ a: numbers(197) })).toMatch(/\n {2}\]\n… and 1 more line$/)
    const lines = textOf({ a: numbers(5_000) }).split('\n')
    expect(lines).toHaveLength(201)
    expect(lines.slice(-2)).toEqual(['    197,', '… and 4,804 more lines'])
  })

  test('is short for a deeply nested megabyte, whose indentation alone would be huge', () => {
    const deepest = `${'['.repeat(499)}${'1,'.repeat(499_000)}1${']'.repeat(499)}`
    const text = textOf({ a: JSON.parse(deepest) as JsonObject })
    expect(text.length).toBeLessThan(50_000)
    expect(text).toMatch(/\n… and 499,801 more lines$/)
  })

  test.each<[string, JsonObject]>([
    ['a value', { a: 'x'.repeat(1_000_000), b: 1 }],
    ['a key', { ['x'.repeat(1_000_000)]: 1, b: 1 }],
  ])('shortens %s of a megabyte', (_name, body) => {
    const text = textOf(body)
    expect(text.length).toBeLessThan(2_100)
    expect(text).toMatch(/x…(: 1)?,\n {2}"b": 1\n\}$/)
  })

  test('shortens a payload that is not JSON', () => {
    const rawBody = Buffer.alloc(1_000_000, 'x')
    expect(payloadText({ body: null, rawBody }, plainStyle)).toBe(`${'x'.repeat(1_999)}…`)
    expect(payloadText({ body: null, rawBody: Buffer.from('no\u001b[2J\njson') }, plainStyle)).toBe(
      'no json',
    )
  })
})
