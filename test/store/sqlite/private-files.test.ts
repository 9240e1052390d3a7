import { chmod, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openStore } from '../../../src/store/index.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

test.skipIf(process.platform === 'win32')('only the owner can read a new store', async () => {
  const folder = await temporaryFolder()
  const store = await openStore(`sqlite:${join(folder, 'evroute.db')}`)
  const names = await readdir(folder)
  expect(names).toEqual(expect.arrayContaining(['evroute.db', 'evroute.db-lock', 'evroute.db-wal']))
  const modes = await Promise.all(names.map((name) => modeOf(join(folder, name))))
  expect(modes).toEqual(names.map(() => 0o600))
  await store.close()
})

test.skipIf(process.platform === 'win32')(
  'opening a store keeps the mode of its file',
  async () => {
    const path = join(await temporaryFolder(), 'evroute.db')
    await (await openStore(`sqlite:${path}`)).close()
    await chmod(path, 0o640)
    await (await openStore(`sqlite:${path}`)).close()
    expect(await modeOf(path)).toBe(0o640)
  },
)

async function modeOf(path: string): Promise<number> {
  return (await stat(path)).mode & 0o777
}
