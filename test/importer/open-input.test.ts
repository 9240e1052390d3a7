import { mkdtemp, rm, unlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openInput } from '../../src/importer/index.ts'

let folder = ''
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'evroute-input-'))
})
afterAll(() => rm(folder, { recursive: true }))

const stdin = Readable.from([Buffer.from('from standard input')])

describe('openInput', () => {
  it('returns the bytes of a file', async () => {
    const path = join(folder, 'a.ndjson')
    await writeFile(path, 'x'.repeat(300_000))
    expect(await text(await openInput(path, stdin))).toBe('x'.repeat(300_000))
  })

  it('returns standard input for a dash', async () => {
    expect(await text(await openInput('-', stdin))).toBe('from standard input')
  })

  it('refuses a path that does not exist', async () => {
    const path = join(folder, 'missing.ndjson')
    await expect(openInput(path, stdin)).rejects.toMatchObject({
      code: 'cannot_read_file',
      message: `Cannot read ${path}: it does not exist`,
      hint: 'Check the path, or pass - to read from standard input.',
    })
  })

  it('refuses a folder', async () => {
    await expect(openInput(folder, stdin)).rejects.toMatchObject({
      code: 'cannot_read_file',
      message: `Cannot read ${folder}: it is a folder`,
      hint: 'Name a file in it.',
    })
  })

  it('refuses a path that leads through a file', async () => {
    await writeFile(join(folder, 'file'), '')
    await expect(openInput(join(folder, 'file', 'a'), stdin)).rejects.toMatchObject({
      code: 'cannot_read_file',
      hint: 'Check that you may read the file.',
    })
  })

  it('fails while reading if the file has been deleted by then', async () => {
    const path = join(folder, 'gone.ndjson')
    await writeFile(path, '')
    const input = await openInput(path, stdin)
    await unlink(path)
    await expect(text(input)).rejects.toMatchObject({ code: 'cannot_read_file' })
  })
})
