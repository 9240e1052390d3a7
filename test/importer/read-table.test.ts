import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readTable, type TableRow } from '../../src/importer/index.ts'
import { CsvReader } from '../../src/importer/csv-reader.ts'
import { RowReader } from '../../src/importer/row-reader.ts'
import { EvrouteError, limits } from '../../src/model/index.ts'
import { briefOf, inChunks } from './support.ts'

async function tableOf(content: string | Uint8Array): Promise<readonly TableRow[]> {
  const rows: TableRow[] = []
  for await (const group of readTable(inChunks(Buffer.from(content)), 'Look at what makes it.'))
    rows.push(...group)
  return rows
}

function tableReader(): RowReader<TableRow> {
  return new RowReader<TableRow>({ openTable: (line) => new CsvReader(line) })
}

/** Summarises a row: its line, and its columns, value or code. */
function brief(row: TableRow): readonly [line: number, what: unknown] {
  switch (row.kind) {
    case 'header':
      return [row.line, row.columns]
    case 'row':
      return [row.line, row.value]
    case 'bad':
      return [row.line, row.code]
  }
}

async function read(content: string | Uint8Array): Promise<readonly unknown[]> {
  return (await tableOf(content)).map(brief)
}

async function messageOfBad(content: string): Promise<string | undefined> {
  return (await tableOf(content)).find((row) => row.kind === 'bad')?.message
}

/** Reads chunks that end at these positions. Overwrites each after it was pushed, so that no row may rely on it. */
function readChunks(bytes: Buffer, cuts: readonly number[]): readonly TableRow[] {
  const reader = tableReader()
  const rows: TableRow[] = []
  const positions = [...new Set(cuts.map((position) => position % (bytes.length + 1)))].sort(
    (a, b) => a - b,
  )
  let start = 0
  for (const end of [...positions, bytes.length]) {
    const chunk = Buffer.from(bytes.subarray(start, end))
    rows.push(...reader.push(chunk))
    chunk.fill(0x2c)
    start = end
  }
  return [...rows, ...reader.end()]
}

describe('the format', () => {
  it('is JSON if the text begins like JSON', async () => {
    expect(await read(' \n\ufeff{"id":1}\n{"id":2}\n')).toEqual([
      [2, { id: 1 }],
      [3, { id: 2 }],
    ])
    expect(await read('\n[{"id":1},{"id":2}]')).toEqual([
      [2, { id: 1 }],
      [2, { id: 2 }],
    ])
  })

  it('is CSV otherwise', async () => {
    expect(await read('id,email\nu1,a@example.com\nu2,')).toEqual([
      [1, ['id', 'email']],
      [2, { id: 'u1', email: 'a@example.com' }],
      [3, { id: 'u2', email: '' }],
    ])
  })

  it('is detected despite gzip, a byte order mark and blank lines', async () => {
    const text = '\ufeff\r\n \r\n"id"\r\nu1\r\n'
    const rows = [
      [3, ['id']],
      [4, { id: 'u1' }],
    ]
    expect(await read(text)).toEqual(rows)
    expect(await read(gzipSync(text))).toEqual(rows)
    expect(await read('\ufeff"id"\nu1')).toEqual([
      [1, ['id']],
      [2, { id: 'u1' }],
    ])
  })

  it('is detected even if the list has no rows', async () => {
    expect(await read('[]')).toEqual([])
    expect(await read('\n id \n')).toEqual([[2, ['id']]])
  })

  it.each(['', '\n', ' \r\n\t', '\ufeff', '\ufeff\r\n', ',\n', '""'])(
    'is undetermined if there is only %j, gzipped or not',
    async (text) => {
      const error = {
        code: 'cannot_read_file',
        message: "The list is empty: it doesn't even have a header",
        hint: 'Look at what makes it.',
      }
      await expect(read(text)).rejects.toMatchObject(error)
      await expect(read(gzipSync(text))).rejects.toMatchObject(error)
    },
  )
})

describe('a CSV', () => {
  it.each([
    ['commas', ','],
    ['semicolons', ';'],
    ['tabs', '\t'],
  ])('may have %s between its cells', async (_, delimiter) => {
    const text = ['"a,;\tb"|id', 'x,;\ty|u1'].join('\n').replaceAll('|', delimiter)
    const quoted = text.replace('x,;\ty', '"x,;\ty"')
    expect(await read(quoted)).toEqual([
      [1, ['a,;\tb', 'id']],
      [2, { 'a,;\tb': 'x,;\ty', id: 'u1' }],
    ])
  })

  it('has quoted cells with delimiters, doubled quotes and line breaks', async () => {
    expect(await read('id,note\r\nu1,"a, ""b""\r\nc"\r\nu2,""\r\nu3,"\n\n"\r\nu4,x\r\n')).toEqual([
      [1, ['id', 'note']],
      [2, { id: 'u1', note: 'a, "b"\r\nc' }],
      [4, { id: 'u2', note: '' }],
      [5, { id: 'u3', note: '\n\n' }],
      [8, { id: 'u4', note: 'x' }],
    ])
  })

  it('keeps its cells as text', async () => {
    expect(await read('id, value \n 1 ,01\ntrue,null\n')).toEqual([
      [1, ['id', 'value']],
      [2, { id: ' 1 ', value: '01' }],
      [3, { id: 'true', value: 'null' }],
    ])
  })

  it('reports rows with too many cells, even if the extra ones are empty', async () => {
    expect(await read('id\nu1\n,\n\n  \nu2\n')).toEqual([
      [1, ['id']],
      [2, { id: 'u1' }],
      [3, 'invalid_csv'],
      [6, { id: 'u2' }],
    ])
  })

  it('ignores columns without a name', async () => {
    expect(await read('\tid\t\n1\tu1\tx\n')).toEqual([
      [1, ['id']],
      [2, { id: 'u1' }],
    ])
  })

  it('treats a column called __proto__ as plain data', async () => {
    const [, row] = await tableOf('__proto__,constructor\na,b\n')
    expect(row?.kind === 'row' && Object.entries(row.value)).toEqual([
      ['__proto__', 'a'],
      ['constructor', 'b'],
    ])
  })

  it('reports broken rows, which do not affect others', async () => {
    expect(
      await read('id,email\nu1\nu2,b,c\nu3,d"e\nu4,"f"g\nu5,h\n"u6"",i\n"u7"\nu8,j\n'),
    ).toEqual([
      [1, ['id', 'email']],
      [2, 'invalid_csv'],
      [3, 'invalid_csv'],
      [4, 'invalid_csv'],
      [5, 'invalid_csv'],
      [6, { id: 'u5', email: 'h' }],
      [7, 'invalid_csv'],
      [9, { id: 'u8', email: 'j' }],
    ])
    const bytes = Buffer.from('id\nu1\n?\nu2\n')
    bytes[6] = 0xff
    expect(await read(bytes)).toEqual([
      [1, ['id']],
      [2, { id: 'u1' }],
      [3, 'invalid_csv'],
      [4, { id: 'u2' }],
    ])
  })

  it('reports rows without values, except blank lines and those at the end', async () => {
    expect(await read('id,email\nu1,a\n,\n" ",""\n\n  \nu2,b\n,\nu3,c\n,\n,\n')).toEqual([
      [1, ['id', 'email']],
      [2, { id: 'u1', email: 'a' }],
      [3, 'invalid_csv'],
      [7, { id: 'u2', email: 'b' }],
      [8, 'invalid_csv'],
      [9, { id: 'u3', email: 'c' }],
    ])
    expect(await read('id\nu1\n\n \nu2\n')).toEqual([
      [1, ['id']],
      [2, { id: 'u1' }],
      [5, { id: 'u2' }],
    ])
  })

  it.each([
    ['id,email\n,\nu1,a\n', 'The row has no values'],
    ['id,email\n,\n,\nu1,a\n', '2 rows have no values'],
    ['id,email\nu1\n', 'The row has the wrong number of cells: 1 instead of 2'],
    [
      'id\na"b\n',
      'The row is not valid CSV: a quote is inside a cell that does not begin with one',
    ],
    [
      'id\n"a"b\n',
      'The row is not valid CSV: text follows the closing quote of a cell, or a quote within it is not doubled',
    ],
    [
      'id\n"a',
      'A quote that opens in this row is never closed, so the rest of the list cannot be read',
    ],
  ])('says what is wrong with %j', async (text, message) => {
    expect(await messageOfBad(text)).toBe(message)
  })

  it('reports rows that are too long', async () => {
    const long = 'x'.repeat(limits.callBytesMax)
    expect(await read(`id,note\nu1,${long}\nu2,"${long}\n"\nu3,y\nu4,${long}`)).toEqual([
      [1, ['id', 'note']],
      [2, 'event_too_large'],
      [3, 'event_too_large'],
      [5, { id: 'u3', note: 'y' }],
      [6, 'event_too_large'],
    ])
  })

  it('is read to its end in little memory even if a quote is never closed', () => {
    const reader = tableReader()
    reader.push(Buffer.from('id\nu1\n"u2\n'))
    const chunk = Buffer.from('u3,u4\n'.repeat(20_000))
    for (let pushed = 0; pushed < 50; pushed++) {
      expect(reader.push(chunk)).toEqual([])
      expect(reader.bufferedBytes).toBeLessThanOrEqual(limits.callBytesMax)
    }
    expect(reader.end().map(brief)).toEqual([[3, 'invalid_csv']])
  })
})

describe('a list that cannot be read', () => {
  const longName = 'x'.repeat(limits.callBytesMax)
  it.each([
    [
      'a column twice in the header',
      'id,email, id\nu1,a,b\n',
      'its header has two columns named "id"',
    ],
    ['an open quote', 'id,"email\nu1,a\n', 'a quote in its header is not closed'],
    ['a broken quote', 'id,"email"x\nu1,a\n', 'its header is not valid CSV'],
    ['UTF-16', Buffer.from('id\nu1\n', 'utf16le'), 'it is text in UTF-16'],
    ['UTF-16 with a byte order mark', Buffer.from('\ufeffid\n', 'utf16le'), 'it is text in UTF-16'],
    [
      'a header that is not UTF-8',
      Buffer.from([0x50, 0x4b, 0xff, 0xfe, 10]),
      'its header is not valid UTF-8',
    ],
    ['a header that is cut off', 'user', 'it ends within its header'],
    ['no line breaks', 'user_id,emailu1,a', 'it ends within its header'],
    ['lines without line feeds', 'id,email\ru1,a\ru2,b\r', 'a carriage return without'],
    ['two carriage returns', 'id,email\r\r\nu1,a\r\r\n', 'a carriage return without a line feed'],
    [
      'long lines without line feeds',
      `"id"\r${'"u1"\r'.repeat(9_999)}`,
      'a carriage return without',
    ],
    ['a header that is too long', `id,${longName}\nu1,a\n`, 'its header has more than 32768 bytes'],
  ])('is refused with the reason: %s', async (_, content, why) => {
    const error = await tableOf(content).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(EvrouteError)
    expect((error as EvrouteError).code).toBe('cannot_read_file')
    expect((error as EvrouteError).message).toContain(why)
  })

  it('returns the rows before the damage, but no partial row', async () => {
    const text = `id\n${Array.from({ length: 20_000 }, (_, index) => `user-${index}\n`).join('')}`
    const zipped = gzipSync(text)
    const rows: TableRow[] = []
    const cut = inChunks(zipped.subarray(0, zipped.length - 20))
    const reading = (async () => {
      for await (const group of readTable(cut, '')) rows.push(...group)
    })()
    await expect(reading).rejects.toThrow('Cannot read the list: The compressed data ends early')
    expect(rows.length).toBeGreaterThan(10_000)
    expect(rows.map(brief)).toEqual([
      [1, ['id']],
      ...rows.slice(1).map((_, index) => [index + 2, { id: `user-${index}` }]),
    ])
  })
})

const delimiters = fc.constantFrom(',', ';', '\t')
const cell = fc.string({ unit: fc.constantFrom('a', '"', ',', ';', '\t', '\n', '\r', ' ', 'é🎁') })

function quoted(text: string): string {
  return `"${text.replaceAll('"', '""')}"`
}

it('reads any cells of a CSV, however it is split into chunks', () => {
  const table = fc.record({
    rows: fc.array(fc.tuple(cell, cell)),
    delimiter: delimiters,
    lineEnd: fc.constantFrom('\n', '\r\n'),
    cuts: fc.array(fc.nat(500)),
  })
  fc.assert(
    fc.property(table, ({ rows, delimiter, lineEnd, cuts }) => {
      const lines = [['one', 'two'], ...rows].map((cells) => cells.map(quoted).join(delimiter))
      const read = readChunks(Buffer.from(lines.join(lineEnd)), cuts)
      const values = read.flatMap((row) => (row.kind === 'row' ? [row.value] : []))
      const isFull = rows.map((cells) => cells.some((text) => text.trim() !== ''))
      const isLost = (row: boolean, position: number): boolean =>
        !row && isFull[position + 1] === true
      const full = rows.filter((_, position) => isFull[position])
      const bad = read.filter((row) => row.kind === 'bad')
      expect(bad).toHaveLength(isFull.filter(isLost).length)
      expect(values).toEqual(full.map(([one, two]) => ({ one, two })))
    }),
  )
})

it('reads the same rows from any text, good or broken, however it is split into chunks', () => {
  const fragment = fc.constantFrom(
    ...['id', ',', ';', '\t', '"', '""', '\n', '\r\n', '\r', ' ', 'u1', 'é', '\ufeff', '\0'],
    ...['u1,x\n', '"a,\nb",c\n', '{"id":1}\n', '[', '\n\n', ',,\n'],
  )
  const text = fc.array(fragment, { maxLength: 60 }).map((parts) => Buffer.from(parts.join('')))
  const outcome = (bytes: Buffer, cuts: readonly number[]): unknown => {
    try {
      return readChunks(bytes, cuts)
    } catch (error) {
      return error
    }
  }
  fc.assert(
    fc.property(text, fc.array(fc.nat(500)), (bytes, cuts) => {
      expect(outcome(bytes, cuts)).toEqual(outcome(bytes, []))
    }),
    { numRuns: 300 },
  )
})

it('calls cannot be read from CSV', async () => {
  await expect(briefOf('userId,event\nu1,Paid\n')).rejects.toThrow('it is CSV')
})
