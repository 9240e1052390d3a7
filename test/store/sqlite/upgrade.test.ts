import { readFile } from 'node:fs/promises'
import { beforeEach, expect, test } from 'vitest'
import { lineLog } from '../../../src/runtime/index.ts'
import { openStore } from '../../../src/store/index.ts'
import { openDatabase } from '../../../src/store/sqlite/database.ts'
import { migrate } from '../../../src/store/sqlite/schema.ts'
import { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts'
import type { UpgradeProgress } from '../../../src/store/upgrade.ts'
import { makeOlderStore } from './older-store.ts'
import { newPath } from './store-calls.ts'

let path = ''
beforeEach(async () => {
  path = await newPath()
})

test('the upgrade of a file tells how far it has come, statement by statement', async () => {
  await makeOlderStore(path)
  const told: UpgradeProgress[] = []
  const upgrade = { onProgress: (progress: UpgradeProgress) => told.push(progress) }
  await (await SqliteStore.open(path, undefined, upgrade)).close()
  expect(told.length).toBeGreaterThan(10)
  expect(told.map(({ done }) => done)).toEqual(told.map((_, index) => index))
  expect(new Set(told.map(({ total }) => total))).toEqual(new Set([told.length - 1]))
  expect(told[0]).toMatchObject({ file: path, bytes: expect.any(Number) as number })
  told.length = 0
  await (await SqliteStore.open(path, undefined, upgrade)).close()
  expect(told).toEqual([])
})

test.each([true, false])(
  'whoever opens a file hears of its upgrade (own thread: %s)',
  async (ownThread) => {
    await makeOlderStore(path)
    const lines: string[] = []
    const log = lineLog((line) => lines.push(line))
    await (await openStore(`sqlite:${path}`, { ownThread, log })).close()
    expect(lines[0]).toMatch(/^warn upgrading the store file=.* megabytes=1 done=0 total=\d+\n$/)
    expect(lines.at(-1)).toMatch(/^warn upgraded the store file=.* seconds=\d+\n$/)
    lines.length = 0
    await (await openStore(`sqlite:${path}`, { ownThread, log })).close()
    await (await openStore(`sqlite:${path}-new`, { ownThread, log })).close()
    expect(lines).toEqual([])
  },
)

test('an upgrade that lacks room says how much it takes, and leaves the file as it was', async () => {
  await makeOlderStore(path)
  const before = await readFile(path)
  const database = await openDatabase(path, 'write')
  expect(() => migrate(database, path, { freeBytes: () => 10_000 })).toThrow(
    `Cannot upgrade the store ${path}: that takes about 1 MB for a while, and 1 MB are free`,
  )
  database.close()
  expect((await readFile(path)).equals(before)).toBe(true)
  await (await SqliteStore.open(path)).close()
})
