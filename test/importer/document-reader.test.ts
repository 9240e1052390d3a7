import { describe, expect, it } from 'vitest'
import { heldTextBytesMax } from '../../src/importer/held-text.ts'
import { briefOf, rowsOf } from './support.ts'

describe('a broken element', () => {
  it.each([
    ['a bare word', '{"type": nope}'],
    ['a list that is not closed', '{"a":[1}'],
    ['a brace within a list that is not closed', '[{"a":1]'],
    ['a string that does not end on its line', '{"a":"x,\n"b":2}'],
    ['two values without a comma', '{"a":1} {"b":2}'],
    ['a word', 'nope'],
    ['a stray brace', '}'],
  ])('affects no other element: %s', async (_, element) => {
    const what = await briefOf(`[{"first":1},${element},{"last":2}]`)
    expect(what).toMatchObject([
      [1, { first: 1 }],
      [1, 'invalid_json'],
      [expect.anything(), { last: 2 }],
    ])
  })

  it('is reported on the line where it begins', async () => {
    expect(await briefOf('[\n\n  {"a":1},\n\n  nope\n,\n  7]')).toEqual([
      [3, { a: 1 }],
      [5, 'invalid_json'],
      [7, 'not_an_object'],
    ])
  })

  it('is not detected inside a string, whatever the string contains', async () => {
    const value = { a: ']},{"batch":[', b: '\\"', c: '"\\\\"', 'd\\': ['{', '}'] }
    expect(await briefOf(`[${JSON.stringify(value)},{"batch":[{}]}]`)).toEqual([
      [1, value],
      [1, { batch: [{}] }],
    ])
  })

  it('may be a missing value between commas', async () => {
    const rows = await rowsOf('[{"a":1},,{"b":2},]')
    expect(rows.map((row) => (row.kind === 'bad' ? row.message : row.value))).toEqual([
      { a: 1 },
      'A value is missing before this comma',
      { b: 2 },
      'A value is missing before this bracket',
    ])
  })

  it('may be longer than the buffer', async () => {
    const long = `"${'x'.repeat(heldTextBytesMax)}"`
    expect(await briefOf(`[{"a":1},\n  ${long},{"b":2}]`)).toEqual([
      [1, { a: 1 }],
      [2, 'event_too_large'],
      [2, { b: 2 }],
    ])
  })
})

describe('a missing or wrong end', () => {
  it.each([
    ['[{"a":1},\n', 2, 'The text ends before the array that begins on line 1 is closed'],
    ['[{"a":1}\n', 2, 'The text ends before the array that begins on line 1 is closed'],
    ['[{"a":1},\n\n {"b":', 3, 'The text ends inside this row'],
    ['[{"a":1},\n"b', 2, 'The text ends inside this row'],
    ['{"batch":[{"a":1}', 1, 'The text ends before the batch that begins on line 1 is closed'],
    ['{"batch":[{"a":1}],\n', 2, 'The text ends before the batch that begins on line 1 is closed'],
    ['[{"a":1}]\n{\n"b":{', 2, 'The text ends before the object that begins here is closed'],
  ])('is reported as a bad row after all others: %j', async (text, line, message) => {
    expect(await rowsOf(text)).toEqual([
      expect.objectContaining({ value: { a: 1 } }),
      { kind: 'bad', line, code: 'invalid_json', message },
    ])
  })

  it('does not hide that the last element is bad for another reason', async () => {
    expect(await briefOf('[7')).toEqual([
      [1, 'not_an_object'],
      [1, 'invalid_json'],
    ])
  })

  it('may be followed by text that is not JSON, and then by text that is', async () => {
    const rows = '{\n"b":2\n}\n{\n"c":3\n}\n'
    expect(await briefOf(`[{"a":1}]]\n${rows}`)).toEqual([
      [1, { a: 1 }],
      [1, 'invalid_json'],
      [2, { b: 2 }],
      [5, { c: 3 }],
    ])
  })

  it('does not hide the rows after a multi-line object whose braces close', async () => {
    expect(await briefOf('{\n"a":[1\n}\n{"b":2}')).toEqual([
      [1, 'invalid_json'],
      [4, { b: 2 }],
    ])
  })
})

describe('an object', () => {
  it('is not a batch document just because a nested list or a string is called "batch"', async () => {
    const value = { a: { batch: [1] }, 'x"batch': [1], b: ['batch', [2]] }
    expect(await briefOf(JSON.stringify(value, null, 1))).toEqual([[1, value]])
    expect(await briefOf('{\n"batch": null}')).toEqual([[1, { batch: null }]])
  })

  it('on several lines may not be longer than a row', async () => {
    const long = JSON.stringify({ a: 'x'.repeat(heldTextBytesMax), batch: [{}] }, null, 1)
    expect(await briefOf(`${long}\n{"b":2}`)).toMatchObject([
      [1, 'event_too_large'],
      [expect.anything(), { b: 2 }],
    ])
  })
})
