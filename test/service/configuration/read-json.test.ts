import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readJson } from '../../../src/service/configuration/read-json.ts'

describe('JSON with comments', () => {
  test('may have trailing commas', () => {
    const text = '// first\n{ "a": [1, 2, /* three */ ], // "b": 2,\n "c": "// text", }'
    expect(readJson(text)).toEqual({ kind: 'value', value: { a: [1, 2], c: '// text' } })
  })

  test('keeps __proto__ as a key', () => {
    const text = '{"b": 2, "a": {"__proto__": {"polluted": true}}, "constructor": 1}'
    const outcome = readJson(`/**/${text}`)
    const value: unknown = JSON.parse(text)
    expect(outcome).toEqual({ kind: 'value', value })
    expect(JSON.stringify(outcome)).toBe(JSON.stringify({ kind: 'value', value }))
  })

  test.each<[string, number, number, string | undefined]>([
    ['', 1, 1, 'The text ends too early.'],
    ['// nothing', 1, 11, 'The text ends too early.'],
    ['{"a": 1', 1, 8, 'The text ends too early.'],
    ['{"a": 1\n "b": 2}', 2, 2, 'A comma may be missing before this point.'],
    ['[1 2]', 1, 4, 'A comma may be missing before this point.'],
    ['{"a": [1, 2}', 1, 12, 'A comma may be missing before this point.'],
    ["{'a': 1}", 1, 2, 'JSON allows double quotes only.'],
    ['{"a": 1 /* why\n}', 1, 9, 'The comment is never closed.'],
    ['{"a" 1}', 1, 6, undefined],
    ['{"a": 1} 2', 1, 10, undefined],
    ['{1: 2}', 1, 2, undefined],
    ['[1,,2]', 1, 4, undefined],
    ['[,]', 1, 2, undefined],
    ['[tru]', 1, 2, undefined],
    ['["a\nb"]', 1, 2, undefined],
    ['["\\x"]', 1, 2, undefined],
    ['{"a":: 1}', 1, 6, undefined],
    ['[}', 1, 2, undefined],
    ['{"a": 1,\n "a": 2}', 2, 2, 'The key "a" is there twice. Delete one of them.'],
    ['[{"b": {"\\u0061": 1, "a": 1}}]', 1, 22, 'The key "a" is there twice. Delete one of them.'],
    [
      '{"__proto__": 1, "__proto__": 2}',
      1,
      18,
      'The key "__proto__" is there twice. Delete one of them.',
    ],
    ['['.repeat(100_000), 1, 1, 'It is nested too deeply.'],
  ])('is refused at its first error: %j', (text, ...expected) => {
    const [line, column, hint] = expected
    expect(readJson(text)).toEqual({ kind: 'invalid', line, column, hint })
  })

  test('has the same values as plain JSON, even with comments on all lines', () => {
    fc.assert(
      fc.property(fc.json(), (json) => {
        const value: unknown = JSON.parse(json)
        const commented = JSON.stringify(value, null, 1)
          .replace(/(?<![[{])\n(?= *[\]}])/g, ',\n')
          .replaceAll('\n', ' // "}\n/* ] */')
        for (const text of [json, commented]) {
          expect(readJson(text)).toEqual({ kind: 'value', value })
        }
      }),
      { numRuns: 500 },
    )
  })

  test('accepts nothing else that JSON.parse refuses', () => {
    const change = fc.record({
      at: fc.nat(),
      remove: fc.nat(3),
      insert: fc.constantFrom('', '"', '}', ']', '{', ':', '1', '-', 'e', '\\', '\n', '\u00a0'),
    })
    fc.assert(
      fc.property(fc.json(), change, (json, { at, remove, insert }) => {
        const start = at % (json.length + 1)
        const text = json.slice(0, start) + insert + json.slice(start + remove)
        // Without slashes in the text, trailing commas are the only extension.
        const isLenient = /,\s*[\]}]|\//.test(text)
        const outcome = readJson(text)
        // JSON.parse accepts a key that an object has twice.
        const isRepeated = outcome.kind === 'invalid' && /is there twice/.test(outcome.hint ?? '')
        if (!isLenient && !isRepeated) expect(outcome.kind === 'value').toBe(isJson(text))
      }),
      { numRuns: 500 },
    )
  })
})

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
