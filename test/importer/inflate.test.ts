import { Readable } from 'node:stream'
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { inflate } from '../../src/importer/inflate.ts'
import { inChunks, rowsOf } from './support.ts'

const rowsCount = 500
const text = Array.from({ length: rowsCount }, (_, n) => `{"n":${n},"square":${n * n}}\n`).join('')
const compressed = gzipSync(text)

async function counts(bytes: Uint8Array, chunkBytes?: number) {
  const rows = await rowsOf(inChunks(bytes, chunkBytes))
  const bad = rows.filter((row) => row.kind === 'bad')
  return {
    good: rows.length - bad.length,
    bad: bad.map(({ line, message }) => ({ line, message })),
  }
}

describe('gzip', () => {
  it.each([1, 7, 100, 1_000_000])('is inflated from chunks of %i bytes', async (chunkBytes) => {
    expect(await counts(compressed, chunkBytes)).toEqual({ good: rowsCount, bad: [] })
  })

  it('may have several members, even ones that end within a row, and trailing zeros', async () => {
    const members = [gzipSync(text.slice(0, 1001)), gzipSync(''), gzipSync(text.slice(1001))]
    const file = Buffer.concat([...members, Buffer.alloc(600)])
    expect(await counts(file)).toEqual({ good: rowsCount, bad: [] })
    expect(await counts(file, 1)).toEqual({ good: rowsCount, bad: [] })
  })

  it('may be empty', async () => {
    expect(await counts(gzipSync(''))).toEqual({ good: 0, bad: [] })
  })

  it('is recognised by its first two bytes only', async () => {
    expect(await counts(Buffer.of(0x1f))).toMatchObject({ good: 0, bad: [{ line: 1 }] })
    expect(await counts(Buffer.of(0x1f, 0x8b))).toEqual({
      good: 0,
      bad: [{ line: 1, message: 'The compressed data ends early' }],
    })
  })

  it.each([1, 50, 1_000_000])(
    'that is cut off returns all rows before the cut, in chunks of %i',
    async (size) => {
      const half = await counts(compressed.subarray(0, compressed.length / 2), size)
      expect(half.good).toBeGreaterThan(rowsCount / 4)
      expect(half.bad).toEqual([{ line: half.good + 1, message: 'The compressed data ends early' }])
      const withoutChecksum = await counts(compressed.subarray(0, -8), size)
      expect(withoutChecksum).toMatchObject({ good: rowsCount, bad: [{ line: rowsCount + 1 }] })
    },
  )

  it('with a wrong checksum loses no more than the last KiB', async () => {
    const file = Buffer.from(compressed)
    file[file.length - 8]! ^= 0xff
    const { good, bad } = await counts(file)
    expect(good).toBeGreaterThan(rowsCount / 4)
    expect({ good, bad }).toEqual({
      good,
      bad: [
        {
          line: good + 1,
          message: 'The compressed data is corrupt (incorrect data check): the rest cannot be read',
        },
      ],
    })
  })

  it('followed by other data returns the rows before it', async () => {
    const file = Buffer.concat([compressed, Buffer.from('garbage')])
    const { good, bad } = await counts(file)
    expect(good).toBeGreaterThan(rowsCount / 4)
    expect(bad).toMatchObject([{ line: good + 1 }])
  })

  it('with damage in its middle returns the rows before it, and reads no further', async () => {
    const noise = Buffer.from(Array.from({ length: 1_000 }, (_, n) => (n * n * 167) % 251))
    let chunksRead = 0
    const input = Readable.from(
      (function* () {
        yield Buffer.concat([compressed.subarray(0, 2_000), noise])
        for (; chunksRead < 1_000; chunksRead++) yield noise
      })(),
    )
    const rows = await rowsOf(input)
    expect(rows.filter((row) => row.kind === 'row').length).toBeGreaterThan(100)
    expect(rows.at(-1)).toMatchObject({ kind: 'bad', code: 'invalid_json' })
    expect(chunksRead).toBeLessThan(100)
    expect(input.destroyed).toBe(true)
  })

  it.each([1, 1_000_000])(
    'reports the position up to which all rows were returned, in chunks of %i',
    async (size) => {
      const file = Buffer.concat([compressed, Buffer.of(0x1f, 0x8b, 0xff), compressed])
      const texts: Buffer[] = []
      for await (const part of inflate(inChunks(file, size))) {
        if (part.kind === 'text') texts.push(part.bytes)
        else {
          expect(part.readBytes).toBeLessThanOrEqual(compressed.length + 1_024)
          const given = inflate(inChunks(file.subarray(0, part.readBytes)))
          const again: Buffer[] = []
          for await (const each of given) if (each.kind === 'text') again.push(each.bytes)
          expect(Buffer.concat(texts).equals(Buffer.concat(again))).toBe(true)
        }
      }
      expect(texts.length).toBeGreaterThan(0)
      expect.assertions(3)
    },
  )

  it('passes on text that inflates a thousandfold in small pieces', async () => {
    const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024, 'x'))
    let inflatedBytes = 0
    for await (const part of inflate(inChunks(bomb))) {
      if (part.kind === 'damaged') throw new Error(part.message)
      expect(part.bytes.length).toBeLessThanOrEqual(64 * 1024)
      inflatedBytes += part.bytes.length
    }
    expect(inflatedBytes).toBe(64 * 1024 * 1024)
  })

  it('closes its input when the reader stops early', async () => {
    const input = inChunks(compressed, 100)
    for await (const part of inflate(input)) {
      expect(part.kind).toBe('text')
      break
    }
    expect(input.destroyed).toBe(true)
  })
})
