import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { readRows } from '../../src/importer/index.ts'
import { inChunks, rowsOf } from './support.ts'

describe('an input in an unsupported format', () => {
  test.each([
    ['a zip archive', Buffer.from('PK\x03\x04 and so on')],
    ['compressed by zstd', Buffer.of(0x28, 0xb5, 0x2f, 0xfd, 4, 0, 0, 0, 9)],
    ['text in UTF-16', Buffer.from('\ufeff{"type":"track"}', 'utf16le')],
    ['text in UTF-16', Buffer.from('{"type":"track"}', 'utf16le')],
    ['binary', Buffer.from('\x7fELF\x02\x01\x01\0\0\0\0')],
    ['CSV', Buffer.from('user id,event,"a value"\nu_1,E,1\n')],
    ['CSV', Buffer.from('\ufeffuserId;event\r\n')],
    ['CSV', Buffer.from('user id , "total (EUR)" , order  no. 1\n')],
  ])('is refused in one sentence: it is %s', async (what, bytes) => {
    const packed = gzipSync(bytes)
    const inputs = [inChunks(bytes, 1), inChunks(bytes), inChunks(packed)]
    for (const input of inputs) {
      await expect(rowsOf(input)).rejects.toMatchObject({
        code: 'cannot_read_file',
        message: `Cannot read the input: it is ${what}`,
      })
    }
  })

  test('is refused with a remedy: it is a tar archive, compressed or not', async () => {
    const head = Buffer.alloc(512)
    head.write('export/calls.ndjson')
    head.write('ustar', 257)
    const members = Buffer.concat([gzipSync(head.subarray(0, 100)), gzipSync(head.subarray(100))])
    const inputs = [
      ...[inChunks(head), inChunks(head, 1), inChunks(head, 150)],
      ...[inChunks(gzipSync(head)), inChunks(members)],
    ]
    for (const input of inputs) {
      await expect(rowsOf(input)).rejects.toMatchObject({
        message: 'Cannot read the input: it is a tar archive',
        hint: 'Unpack it first, for example with: tar -xf <file>',
      })
    }
  })

  test('is looked for without delaying a row that arrives alone', async () => {
    async function* live(): AsyncGenerator<Uint8Array> {
      yield Buffer.from('{"a":1}\n')
      await new Promise(() => undefined)
    }
    const first = await readRows(live()).next()
    expect(first).toMatchObject({ value: [{ kind: 'row', value: { a: 1 } }] })
  })

  // If the time grew exponentially with the number of cells, the third text would take for ever.
  test.each(['broken', 'a, {"b":1}', `${'a ,'.repeat(200)}!`, 'nul, 5', ''])(
    'is not suspected in %j',
    async (text) => {
      const rows = await rowsOf(inChunks(Buffer.from(`${text}\n`)))
      expect(rows.every(({ kind }) => kind === 'bad')).toBe(true)
    },
  )
})
