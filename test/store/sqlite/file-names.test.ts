import { existsSync } from 'node:fs'
import { link, mkdir, symlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import type { DeliveryLog } from '../../../src/delivery/index.ts'
import { SqliteLog } from '../../../src/store/sqlite/sqlite-log.ts'
import { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts'
import { delivered, nowMs } from '../../conformance/store-under-test.ts'
import { add, claim, newPath, openStore } from './store-calls.ts'

let path = ''
beforeEach(async () => {
  path = await newPath()
})

async function openLog(name: string): Promise<DeliveryLog> {
  const log = await SqliteLog.open(name, { write: true })
  onTestFinished(() => log.close())
  return log
}

describe.skipIf(process.platform === 'win32')('a store behind symbolic links', () => {
  /** Each function creates a different name for the store. */
  const namings: readonly (readonly [string, () => Promise<string>])[] = [
    ['a link', () => linkTo(path, 'link.db')],
    ['a relative link', () => linkTo('store.db', 'link.db')],
    ['a link to a link', async () => linkTo(await linkTo(path, 'link.db'), 'other.db')],
    ['a folder that is a link', async () => join(await linkTo('.', 'folder'), 'store.db')],
    [
      'a link with .. after a folder that is a link',
      async () => {
        await mkdir(join(dirname(path), 'deep', 'er'), { recursive: true })
        await linkTo('deep/er', 'folder')
        return linkTo('folder/../../store.db', 'link.db')
      },
    ],
    [
      '.. after a folder that is a link',
      async () => {
        await mkdir(join(dirname(path), 'deep', 'er'), { recursive: true })
        // `join` would remove the folder and the `..` from the path.
        return `${await linkTo('deep/er', 'folder')}/../../store.db`
      },
    ],
  ]

  async function linkTo(target: string, name: string): Promise<string> {
    const linkPath = join(dirname(path), name)
    await symlink(target, linkPath)
    return linkPath
  }

  describe.each(namings)('%s', (_name, makeName) => {
    test.each(['that exists', 'that does not exist yet'])(
      'delivers from a file %s',
      async (word) => {
        if (word === 'that exists') await (await SqliteStore.open(path)).close()
        const name = await makeName()
        const store = await openStore(name)
        await add(store, 'm_1')
        const [delivery] = await claim(store)
        await store.settle({ nowMs, settlements: [delivered(delivery!)], requests: [] })
        const files = [path, `${path}-wal`, `${path}-lock`]
        expect(files.map((file) => existsSync(file))).toEqual([true, true, true])
        const log = await openLog(name)
        expect(await log.audit()).toEqual(await store.audit())
      },
    )

    test('leads to the same store as its path', async () => {
      const store = await openStore(path)
      await add(store, 'm_1')
      const name = await makeName()
      await expect(SqliteStore.open(name)).rejects.toMatchObject({ code: 'store_in_use' })
      const log = await openLog(name)
      expect(await log.list({ filter: {}, limit: 10 })).toMatchObject([{ messageId: 'm_1' }])
    })
  })

  test('names the missing file behind a link', async () => {
    const name = await linkTo(path, 'link.db')
    await expect(SqliteLog.open(name, { write: false })).rejects.toMatchObject({
      code: 'store_unusable',
      message: `Cannot use the store ${path}: there is no such file`,
    })
  })

  test('names the missing folder behind a link, and creates nothing', async () => {
    const name = await linkTo('nowhere/store.db', 'link.db')
    await expect(SqliteStore.open(name)).rejects.toMatchObject({
      code: 'store_unusable',
      message: expect.stringContaining(
        `the folder ${join(dirname(path), 'nowhere')} does not exist`,
      ) as string,
    })
    expect(existsSync(`${name}-lock`)).toBe(false)
  })

  test('refuses a link to itself', async () => {
    const name = await linkTo('link.db', 'link.db')
    const refused = { code: 'store_unusable', message: expect.stringContaining(name) as string }
    await expect(SqliteStore.open(name)).rejects.toMatchObject(refused)
    await expect(SqliteLog.open(name, { write: false })).rejects.toMatchObject(refused)
  })
})

describe('a store whose file has several names', () => {
  const refused = {
    code: 'store_unusable',
    message: expect.stringContaining('the file has 2 names (hard links)') as string,
    hint: 'Remove its other hard links, or copy the file and name the copy.',
  }
  let other = ''

  beforeEach(async () => {
    await (await SqliteStore.open(path)).close()
    other = join(dirname(path), 'other.db')
    await link(path, other)
  })

  test('cannot be delivered from, under any name', async () => {
    await expect(SqliteStore.open(path)).rejects.toMatchObject(refused)
    await expect(SqliteStore.open(other)).rejects.toMatchObject(refused)
    expect(existsSync(`${other}-lock`)).toBe(false)
  })

  test('cannot be changed through a log, but can be read', async () => {
    await expect(SqliteLog.open(other, { write: true })).rejects.toMatchObject(refused)
    const log = await SqliteLog.open(other, { write: false })
    expect(await log.list({ filter: {}, limit: 1 })).toEqual([])
    await log.close()
  })
})
