import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { MemoryStore, openStore } from '../../src/store/index.ts'
import { SqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

describe('openStore', () => {
  test('opens memory', async () => {
    expect(await openStore('memory:')).toBeInstanceOf(MemoryStore)
  })

  test('opens a file, which it makes', async () => {
    const store = await openStore(`sqlite:${join(await temporaryFolder(), 'store.db')}`)
    expect(store).toBeInstanceOf(SqliteStore)
    await store.close()
  })

  test.each(['', 'store.db', 'sqlite:', 'mysql://db.example.com/'])('refuses "%s"', async (url) => {
    await expect(openStore(url)).rejects.toMatchObject({ code: 'invalid_setting' })
  })
})
