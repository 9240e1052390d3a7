import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { MemoryStore, openDeliveryLog, openStore } from '../../src/store/index.ts'
import { SqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const noFiles = ['', 'store.db', 'sqlite:', 'mysql://db.example.com/']

describe('openStore', () => {
  test('opens memory', async () => {
    expect(await openStore('memory:')).toBeInstanceOf(MemoryStore)
  })

  test('opens a file, which it makes', async () => {
    const store = await openStore(`sqlite:${join(await temporaryFolder(), 'store.db')}`)
    expect(store).toBeInstanceOf(SqliteStore)
    await store.close()
  })

  test('opens the very file that is named, whatever its name', async () => {
    const path = join(await temporaryFolder(), 'ä ?mode=ro#%20.db')
    const store = await openStore(`sqlite:${path}`)
    const log = await openDeliveryLog(`sqlite:${path}`, { write: true })
    expect(await log.audit()).toEqual(await store.audit())
    await log.close()
    await store.close()
  })

  test.each(noFiles)('refuses "%s"', async (url) => {
    await expect(openStore(url)).rejects.toMatchObject({ code: 'invalid_setting' })
  })
})

describe('openDeliveryLog', () => {
  test('opens a file that is there', async () => {
    const url = `sqlite:${join(await temporaryFolder(), 'store.db')}`
    const store = await openStore(url)
    const log = await openDeliveryLog(url, { write: false })
    expect(await log.list({ filter: {}, limit: 1 })).toEqual([])
    await log.close()
    await store.close()
  })

  test('makes no file', async () => {
    const url = `sqlite:${join(await temporaryFolder(), 'store.db')}`
    await expect(openDeliveryLog(url, { write: true })).rejects.toMatchObject({
      code: 'store_unusable',
    })
  })

  test.each([...noFiles, 'memory:'])('refuses "%s"', async (url) => {
    const opened = openDeliveryLog(url, { write: false })
    await expect(opened).rejects.toMatchObject({ code: 'invalid_setting', setting: '--store' })
  })
})
