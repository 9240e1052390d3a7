import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { findJsonError } from '../../../src/service/configuration/json-error.ts'

describe('the place where a text stops being JSON', () => {
  test.each<[string, number, number, string | undefined]>([
    ['', 1, 1, 'The text ends too early.'],
    ['{"a": 1', 1, 8, 'The text ends too early.'],
    ['{\n  "a": 1,\n}', 3, 1, 'Remove the comma before it.'],
    ['[1,\n]', 2, 1, 'Remove the comma before it.'],
    ['{"a": 1\n "b": 2}', 2, 2, 'A comma may be missing before it.'],
    ['[1 2]', 1, 4, 'A comma may be missing before it.'],
    ['{"a": [1, 2}', 1, 12, 'A comma may be missing before it.'],
    ['{ // why\n"a": 1}', 1, 3, 'JSON has no comments.'],
    ["{'a': 1}", 1, 2, 'JSON allows double quotes only.'],
    ['{"a" 1}', 1, 6, undefined],
    ['{"a": 1} 2', 1, 10, undefined],
    ['{1: 2}', 1, 2, undefined],
    ['[01]', 1, 2, undefined],
    ['[tru]', 1, 2, undefined],
    ['["a\nb"]', 1, 2, undefined],
    ['["\\x"]', 1, 2, undefined],
    ['{"a":: 1}', 1, 6, undefined],
    ['[}', 1, 2, undefined],
  ])('%j', (text, ...place) => {
    const [line, column, hint] = place
    expect(findJsonError(text)).toEqual({ line, column, hint })
  })

  test('is found in exactly those texts that the engine refuses', () => {
    const change = fc.record({
      at: fc.nat(),
      remove: fc.nat(3),
      insert: fc.constantFrom(
        '',
        ',',
        '"',
        '}',
        ']',
        '{',
        '[',
        ':',
        '1',
        '-',
        'e',
        '\\',
        '\n',
        '\t',
        '\u00a0',
        '\u2028',
        '\u007f',
        'null',
      ),
    })
    fc.assert(
      fc.property(fc.json(), fc.array(change, { maxLength: 2 }), (json, edits) => {
        const text = edits.reduce((before, { at, remove, insert }) => {
          const start = at % (before.length + 1)
          return before.slice(0, start) + insert + before.slice(start + remove)
        }, json)
        expect(findJsonError(text) === undefined).toBe(isJson(text))
      }),
      { numRuns: 2_000 },
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
