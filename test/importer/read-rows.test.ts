import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { readRows } from '../../src/importer/index.ts'
import { limits } from '../../src/model/index.ts'
import { briefOf, inChunks, rowsOf } from './support.ts'

const compressions: readonly (readonly [string, (text: string) => Buffer])[] = [
  ['plain', (text) => Buffer.from(text)],
  ['gzip', (text) => gzipSync(text)],
]

describe.each(compressions)('formats, %s', (_, compress) => {
  const read = (text: string) => briefOf(compress(text))

  it('reads NDJSON, even without a final line feed', async () => {
    expect(await read('{"a":1}\n{"b":2}')).toEqual([
      [1, { a: 1 }],
      [2, { b: 2 }],
    ])
  })

  it('reads a JSON array, on one line or over many', async () => {
    expect(await read('[{"a":1},{"b":[2]}]')).toEqual([
      [1, { a: 1 }],
      [1, { b: [2] }],
    ])
    expect(await read('[\n  {\n    "a": 1\n  },\n  {\n    "b": 2\n  }\n]\n')).toEqual([
      [2, { a: 1 }],
      [5, { b: 2 }],
    ])
  })

  it('reads a batch document, whether batch is its first key or not', async () => {
    expect(await read('{"batch":[{"a":1},{"b":2}],"sentAt":"x","writeKey":"y"}')).toEqual([
      [1, { a: 1 }],
      [1, { b: 2 }],
    ])
    expect(await read('{\n  "sentAt": "batch",\n  "batch" : [\n    {"a": 1}\n  ]\n}')).toEqual([
      [4, { a: 1 }],
    ])
  })

  it('reads an object on several lines, or several of these one after the other', async () => {
    expect(await read('{\n  "a": {"x": [1]}\n}\n')).toEqual([[1, { a: { x: [1] } }]])
    expect(await read('\n{\n  "a": 1\n}\n\n{\n  "b": 2\n}{"c":3}')).toEqual([
      [2, { a: 1 }],
      [6, { b: 2 }],
      [8, { c: 3 }],
    ])
    expect(await read('{"a":1}{"b":2}\n{"c":3}\n')).toEqual([
      [1, { a: 1 }],
      [1, { b: 2 }],
      [2, { c: 3 }],
    ])
    expect(await read('{"a":[\n{"b":1}\n]}')).toEqual([[1, { a: [{ b: 1 }] }]])
  })

  it('reads documents one after the other, and lines after a document', async () => {
    expect(await read('{"batch":[{"a":1}]}\n{"batch":[{"b":2}]}\n[{"c":3}]\n{"d":4}\nx\n')).toEqual(
      [
        [1, { a: 1 }],
        [2, { b: 2 }],
        [3, { c: 3 }],
        [4, { d: 4 }],
        [5, 'invalid_json'],
      ],
    )
  })

  it('finds no rows where there are none', async () => {
    for (const text of [
      '',
      '\n',
      ' \r\n\t\n',
      '\ufeff',
      '\ufeff\n',
      '[]',
      '[ \n ]\n',
      '{"batch":[]}',
    ]) {
      expect(await read(text)).toEqual([])
    }
  })
})

describe('good rows', () => {
  it('accepts a byte order mark, CR LF and blank lines', async () => {
    const rows = await rowsOf('\ufeff{"a":1}\r\n\r\n  \n{"b":2}\r\n')
    expect(rows).toEqual([
      { kind: 'row', line: 1, value: { a: 1 }, bytes: 7 },
      { kind: 'row', line: 4, value: { b: 2 }, bytes: 7 },
    ])
    expect(await briefOf('\ufeff[{"a":1}]')).toEqual([[1, { a: 1 }]])
    expect(await briefOf('\ufeff{\n"a":1}')).toEqual([[1, { a: 1 }]])
  })

  it('accepts another byte order mark where files were joined', async () => {
    expect(await briefOf('\ufeff{"a":1}\n\ufeff{"b":2}\n')).toEqual([
      [1, { a: 1 }],
      [2, { b: 2 }],
    ])
  })

  it('accepts any Unicode character, and ends lines only at line feeds', async () => {
    const text = '{"a":"\u2028\u2029é日本🎁"}\n{"b":"\\ud83c"}\n{"c":"\ufffd"}\n'
    expect(await briefOf(text)).toEqual([
      [1, { a: '\u2028\u2029é日本🎁' }],
      [2, { b: '\ud83c' }],
      [3, { c: '\ufffd' }],
    ])
  })

  it('lets the last of duplicate keys win', async () => {
    expect(await briefOf('{"a":1,"a":2}')).toEqual([[1, { a: 2 }]])
  })

  it('keeps __proto__ as plain data, even when a batch is merged', async () => {
    const call = '{"__proto__":{"polluted":1},"context":{"__proto__":{"polluted":2}}}'
    const batch = `{"context":{"__proto__":{"polluted":3},"ip":"x"},"batch":[${call},{}]}`
    const [row, merged, filled] = await rowsOf(`${call}\n`).then(async (lines) => [
      ...lines,
      ...(await rowsOf(batch)),
    ])
    expect(JSON.stringify(row)).toContain(`"value":${call}`)
    expect(JSON.stringify(merged)).toContain('{"__proto__":{"polluted":2},"ip":"x"}')
    expect(JSON.stringify(filled)).toContain('{"__proto__":{"polluted":3},"ip":"x"}')
    expect(Object.getOwnPropertyNames(Object.prototype)).not.toContain('polluted')
    for (const value of [row, merged, filled]) expect(value).not.toHaveProperty('value.polluted')
  })

  it('counts the bytes of the row without the blanks around it', async () => {
    const rows = await rowsOf('  {"a":"é"} \r\n')
    expect(rows).toEqual([{ kind: 'row', line: 1, value: { a: 'é' }, bytes: 10 }])
  })
})

describe('bad rows', () => {
  it('reports a broken row and continues', async () => {
    const text = '{"a":1}\n{"a":nope}\n\n{"a":"x\n"b"\n{"c":3}\n'
    expect(await briefOf(text)).toEqual([
      [1, { a: 1 }],
      [2, 'invalid_json'],
      [4, 'invalid_json'],
      [5, 'not_an_object'],
      [6, { c: 3 }],
    ])
  })

  it.each([
    ['broken inside', '{"a": nope}'],
    ['cut off inside a string', '{"a":"x'],
    ['cut off inside an object', '{"a":{"b":1}'],
    ['cut off after a colon', '{"a":'],
    ['followed by other text', '{"a":1} x'],
    ['not JSON at all', 'exported on Monday'],
    ['a lone brace', '}'],
  ])('reads NDJSON as lines when the first row is %s', async (_, first) => {
    expect(await briefOf(`${first}\n{"b":2}\n{"c":3}\n`)).toEqual([
      [1, 'invalid_json'],
      [2, { b: 2 }],
      [3, { c: 3 }],
    ])
  })

  it('says what a row is if it is not an object', async () => {
    const rows = await rowsOf('{}\n7\nnull\n[1]\n"x"\ntrue\n')
    expect(rows.slice(1).map((row) => row.kind === 'bad' && `${row.code}: ${row.message}`)).toEqual(
      ['a number', 'null', 'an array', 'a string', 'a boolean'].map(
        (name) => `not_an_object: A row must be a JSON object, not ${name}`,
      ),
    )
  })

  it('accepts a row of exactly the limit and refuses one byte more, whatever surrounds it', async () => {
    const row = (bytes: number) => `{"a":"${'x'.repeat(bytes - 8)}"}`
    const most = row(limits.callBytesMax)
    const over = row(limits.callBytesMax + 1)
    const codes = async (text: string) =>
      (await rowsOf(text)).map((found) => (found.kind === 'row' ? found.bytes : found.code))
    const expected = [limits.callBytesMax, 'event_too_large', 2]
    expect(await codes(` ${most} \r\n${over}\n{}`)).toEqual(expected)
    expect(await codes(`[ ${most},${over}, {}]`)).toEqual(expected)
  })

  it.each([64 * 1024, 8 * 1024 * 1024])(
    'accepts rows of more than a megabyte if configured, in chunks of %d bytes',
    async (chunkBytes) => {
      const rowBytesMax = 3 * 1024 * 1024
      const row = (bytes: number) => `{"a":"[${'x'.repeat(bytes - 9)}"}`
      const sizes = [rowBytesMax, rowBytesMax + 1, 2, rowBytesMax]
      const text = sizes.map((bytes) => (bytes === 2 ? '{}' : row(bytes))).join('\n')
      const found: unknown[] = []
      for await (const rows of readRows(inChunks(Buffer.from(text), chunkBytes), rowBytesMax)) {
        found.push(...rows.map((each) => (each.kind === 'row' ? each.bytes : each.code)))
      }
      expect(found).toEqual([rowBytesMax, 'event_too_large', 2, rowBytesMax])
    },
  )

  it('refuses bytes that are not UTF-8, and survives NUL', async () => {
    const invalid = Buffer.concat([Buffer.from('{"a":"'), Buffer.of(0xe9), Buffer.from('"}')])
    const text = Buffer.concat([invalid, Buffer.from('\n\0\n{"b":2}\n'), invalid])
    const rows = await rowsOf(text)
    expect(rows).toMatchObject([
      { line: 1, code: 'invalid_json', message: 'The row is not valid UTF-8' },
      { line: 2, code: 'invalid_json' },
      { line: 3, value: { b: 2 } },
      { line: 4, code: 'invalid_json' },
    ])
  })

  it('refuses a number that would be sent as null', async () => {
    const digits = '9'.repeat(309)
    const numbers = ['1e999', '[-1.5E+400]', digits, `{"b":-${digits}.5}`]
    const text = numbers.map((number) => `{"a":${number}}`).join('\n')
    const refused = numbers.map((_, index) => ({
      kind: 'bad',
      line: index + 1,
      code: 'invalid_json',
      message: 'The row is not valid JSON: a number is too large',
    }))
    expect(await rowsOf(text)).toEqual(refused)
  })

  it('accepts other long numbers, and text that looks like a large number', async () => {
    const text = '{"a":[1e308,1e-999,1e0005, 0.5e+0300],"b":", 1e999","c":"9e123","d":" 1e999"}'
    expect(await rowsOf(text)).toMatchObject([{ kind: 'row', value: JSON.parse(text) as unknown }])
  })

  it('leaves out the line and column that newer engines add to the message', async () => {
    const messages = (await rowsOf('{"a" 1}')).map((row) => row.kind === 'bad' && row.message)
    expect(messages).toEqual([expect.stringMatching(/^The row is not valid JSON: .*[^)]$/)])
  })
})
