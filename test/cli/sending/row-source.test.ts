import { createHash } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { InputMeter } from '../../../src/cli/sending/row-source.ts'
import { readRows } from '../../../src/importer/index.ts'
import { CapturedStream } from '../../support/io.ts'
import { inChunks } from '../../importer/support.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const stop = new AbortController().signal
const io = {
  stdin: inChunks(Buffer.from('{}\n')),
  stdout: new CapturedStream(),
  stderr: new CapturedStream(),
  env: {},
  stop,
  interrupted: stop,
}

async function fileOf(bytes: number): Promise<string> {
  const path = join(await temporaryFolder(), 'rows.ndjson')
  await writeFile(path, Buffer.alloc(bytes, '\n'))
  return path
}

test('the number of rows is estimated from the bytes that were read from all files', async () => {
  const meter = new InputMeter(io)
  const first = await meter.open(await fileOf(256 * 1024))
  const second = await meter.open(await fileOf(768 * 1024))
  expect(meter.total(0)).toBeUndefined()
  for await (const chunk of first) expect(chunk.length).toBeGreaterThan(0)
  expect(meter.total(1_000)).toBe(4_000)
  for await (const chunk of second) expect(chunk.length).toBeGreaterThan(0)
  expect(meter.total(3_500)).toBe(3_500)
})

test('estimates the rows in a gzip file from the inflated bytes, not from the compressed ones', async () => {
  const rowsCount = 4_000
  const row = (index: number): string =>
    JSON.stringify({ id: createHash('sha256').update(String(index)).digest('hex') })
  const path = join(await temporaryFolder(), 'rows.ndjson.gz')
  await writeFile(path, gzipSync(Array.from({ length: rowsCount }, (_, at) => row(at)).join('\n')))
  const meter = new InputMeter(io)
  let parsed = 0
  const totals: number[] = []
  for await (const rows of readRows(await meter.open(path))) {
    parsed += rows.length
    if (parsed >= rowsCount / 4) totals.push(meter.total(parsed) ?? 0)
  }
  expect(parsed).toBe(rowsCount)
  expect(Math.min(...totals)).toBeGreaterThan(0.9 * rowsCount)
  expect(Math.max(...totals)).toBeLessThan(1.1 * rowsCount)
})

test('the number of rows in a pipe is unknown', async () => {
  const meter = new InputMeter(io)
  await meter.open(await fileOf(1))
  for await (const chunk of await meter.open('-')) expect(chunk.length).toBe(3)
  expect(meter.total(1)).toBeUndefined()
})
