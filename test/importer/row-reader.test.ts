import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { heldTextBytesMax } from '../../src/importer/held-text.ts'
import type { Row } from '../../src/importer/index.ts'
import { EvrouteError } from '../../src/model/index.ts'
import { RowReader } from '../../src/importer/row-reader.ts'

/** Reads rows. A text that is refused as CSV becomes one bad row. */
function readChunks(chunks: Iterable<Buffer>, damage?: string): readonly Row[] {
  const reader = new RowReader()
  const rows: Row[] = []
  try {
    for (const chunk of chunks) rows.push(...reader.push(chunk))
    rows.push(...reader.end(damage))
    return rows
  } catch (error) {
    if (!(error instanceof EvrouteError)) throw error
    return [{ kind: 'bad', line: 1, code: 'invalid_json', message: error.message }]
  }
}

function* cut(bytes: Buffer, cuts: readonly number[]): Generator<Buffer> {
  const positions = [...new Set(cuts.map((position) => position % (bytes.length + 1)))].sort(
    (a, b) => a - b,
  )
  let start = 0
  for (const end of [...positions, bytes.length]) {
    // A copy, overwritten after use, because the reader must not rely on a chunk after it was pushed.
    const chunk = Buffer.from(bytes.subarray(start, end))
    yield chunk
    chunk.fill(0x7d)
    start = end
  }
}

const cuts = fc.array(fc.nat(5_000), { maxLength: 40 })

/** Pieces that make up good and broken files of every format. */
const fragment = fc.constantFrom(
  ...[
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    '"',
    '\\',
    '\n',
    '\r\n',
    ' ',
    '\n\n',
    '\0',
    'nope',
    '7',
    'null',
  ],
  ...[
    '{"a":1}',
    '{"a":"}\\""}',
    '{"a":1}\n',
    '{"a":\n1},\n',
    '{"b":[1,{"c":"é🎁"}]}',
    '\ufeff',
    'é',
  ],
  ...['{"batch":[', '"batch"', '"batch":[', '],"context":{"x":1}', '"context":{"y":2},', ']}\n'],
)
const soup = fc
  .array(fragment, { maxLength: 40 })
  .map((fragments) => Buffer.from(fragments.join('')))

const object = fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 5 }).filter(
  // These mean something of their own.
  (value) => !('batch' in value) && !('context' in value) && !('integrations' in value),
)

/** Every format that can hold a list of objects. */
const layouts: Readonly<Record<string, (objects: readonly object[]) => string>> = {
  lines: (objects) => objects.map((value) => JSON.stringify(value)).join('\n'),
  'CR LF lines with blank ones': (objects) =>
    objects.map((value) => `\r\n${JSON.stringify(value)} \r\n`).join(''),
  'an array on one line': (objects) => JSON.stringify(objects),
  'an array over several lines': (objects) => JSON.stringify(objects, null, 2),
  'a batch document on one line': (objects) =>
    JSON.stringify({ sentAt: '[', batch: objects, a: 1 }),
  'a batch document over several lines': (objects) =>
    JSON.stringify({ sentAt: '{"batch":[', batch: objects }, null, '\t'),
  'objects over several lines': (objects) =>
    objects.map((value) => JSON.stringify({ ...value, many: 1 }, null, 2)).join('\n'),
}

describe('RowReader', () => {
  it('gives the same rows wherever the chunks are cut', () => {
    fc.assert(
      fc.property(soup, cuts, fc.boolean(), (text, positions, isDamaged) => {
        const damage = isDamaged ? 'damaged' : undefined
        expect(readChunks(cut(text, positions), damage)).toEqual(readChunks([text], damage))
      }),
      {
        numRuns: 700,
        // Each is cut within a byte order mark, and the bytes after it decide the format.
        examples: [
          [Buffer.from('{"a":1}\ufeff{"b":2}'), [8], false],
          [Buffer.from('{"a":\n\ufeff{"b":2}'), [8], false],
          [Buffer.from('\ufeff[{"b":2}]'), [1], false],
        ],
      },
    )
  })

  it('never fails, and gives the rows in the order of their lines, whatever the bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), soup, (noise, text) => {
        const rows = readChunks([Buffer.concat([text, noise, text])])
        const lines = rows.map((row) => row.line)
        expect(lines.every((line, index) => line >= (lines[index - 1] ?? 1))).toBe(true)
      }),
      { numRuns: 400 },
    )
  })

  it.each(Object.entries(layouts))('reads back what was written as %s', (name, write) => {
    fc.assert(
      fc.property(fc.array(object, { maxLength: 8 }), cuts, (objects, positions) => {
        const rows = readChunks(cut(Buffer.from(`${write(objects)}\n`), positions))
        const expected = objects.map((value) =>
          name.startsWith('objects') ? { ...value, many: 1 } : value,
        )
        expect(rows.map((row) => (row.kind === 'row' ? row.value : row))).toEqual(
          JSON.parse(JSON.stringify(expected)),
        )
      }),
    )
  })

  it('reports damage instead of a last row that is cut off, and in addition to one that is whole', () => {
    const bad = { kind: 'bad', line: 2, code: 'invalid_json', message: 'damaged' }
    const good = (a: number) => ({ kind: 'row', line: a, value: { a }, bytes: 7 })
    const read = (text: string) => readChunks([Buffer.from(text)], 'damaged')
    expect(read('{"a":1}\n{"a":')).toEqual([good(1), bad])
    expect(read('{"a":1}\n{"a":2}')).toEqual([good(1), good(2), bad])
    expect(read('[{"a":1},\n{"a":')).toEqual([good(1), bad])
    expect(read('[{"a":1},\n{"a":2}')).toEqual([good(1), good(2), bad])
    expect(read('[{"a":1},\n7')).toEqual([good(1), bad])
    expect(read('')).toEqual([{ ...bad, line: 1 }])
    expect(read('[{"a":1}]\n')).toEqual([good(1), bad])
  })
})

describe('the memory of a reader', () => {
  const chunkBytes = 64 * 1024
  const row = JSON.stringify({ a: 'x'.repeat(2_000) })
  const mib = 1024 * 1024

  function* text(head: string, body: string, bytes: number): Generator<Buffer> {
    yield Buffer.from(head)
    const twice = Buffer.from(body.repeat(Math.ceil(chunkBytes / body.length)).repeat(2))
    // The first of two chunks ends within a row.
    const half = twice.length / 2
    for (let sent = 0; sent < bytes; sent += twice.length) {
      yield twice.subarray(0, half - 1)
      yield twice.subarray(half - 1)
    }
  }

  it.each([
    ['NDJSON', text('', `${row}\n`, 200 * mib), heldTextBytesMax],
    ['an array', text('[', `${row},`, 16 * mib), heldTextBytesMax],
    ['a batch', text('{"batch":[', `${row},`, 16 * mib), heldTextBytesMax],
    ['an array of tiny elements', text('[', '1,', 2 * mib), heldTextBytesMax],
    ['one line', text('{"a":"', 'x', 200 * mib), heldTextBytesMax],
    ['one line that is not JSON', text('', 'x', 200 * mib), heldTextBytesMax],
    ['one element', text('[{"a":"', 'x', 16 * mib), heldTextBytesMax],
    ['one deeply nested element', text('[', '[', 16 * mib), heldTextBytesMax],
    ['one object over several lines', text('{\n', '"a":1,', 16 * mib), heldTextBytesMax],
    ['one member of a batch', text('{"batch":[],"a":"', 'x', 16 * mib), heldTextBytesMax],
  ])('does not grow with the size of %s', (_, chunks, bufferedBytesMax) => {
    const reader = new RowReader()
    let mostBytes = 0
    for (const chunk of chunks) {
      reader.push(chunk)
      mostBytes = Math.max(mostBytes, reader.bufferedBytes)
    }
    reader.end()
    expect(mostBytes).toBeGreaterThan(0)
    expect(mostBytes).toBeLessThanOrEqual(bufferedBytesMax)
  })
})
