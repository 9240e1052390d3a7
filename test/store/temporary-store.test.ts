import { readdir } from 'node:fs/promises'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { Member } from '../../src/audience/index.ts'
import { openTemporaryStore } from '../../src/store/index.ts'
import { beginSync, vip } from '../conformance/audience-store-under-test.ts'
import { event } from '../conformance/store-under-test.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

test('a temporary store is empty, and has no file while it is open or after it is closed', async () => {
  const folder = await temporaryFolder()
  for (const name of ['TMPDIR', 'SQLITE_TMPDIR']) vi.stubEnv(name, folder)
  onTestFinished(() => void vi.unstubAllEnvs())
  const store = await openTemporaryStore()
  expect(await store.audiences.list()).toEqual([])
  const sync = await beginSync(store, vip, { nowMs: 0, eventOf: () => event('m_1') })
  const wide = 'x'.repeat(1_000)
  // More than SQLite keeps in memory.
  for (let part = 0; part < 10; part++) {
    const members = Array.from({ length: 1_000 }, (_, index): Member => {
      const identity = { userId: `u_${part}_${index}_${wide}`, anonymousId: null, email: null }
      return { identity, value: 'true' }
    })
    await sync.take(...members)
  }
  expect(await store.audiences.list()).toMatchObject([{ members: 10_000 }])
  expect(await readdir(folder)).toEqual([])
  await store.close()
  expect(await readdir(folder)).toEqual([])
})
