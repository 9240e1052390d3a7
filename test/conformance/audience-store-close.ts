import { describe, expect, test } from 'vitest'
import type { Store } from '../../src/store/index.ts'
import { AudiencesUnderTest, member, vip } from './audience-store-under-test.ts'
import { nowMs } from './store-under-test.ts'

/** Tests a closed store. */
export function audiencesCloseSuite(open: () => Promise<Store>): void {
  describe('close', () => {
    test('makes every method reject with store_closed', async () => {
      const tested = new AudiencesUnderTest(open)
      await tested.begin()
      const sync = await tested.beginSync()
      const complete = await tested.beginSync({ audience: { key: 'other' } })
      await complete.finish()
      const { audiences } = tested.store
      await tested.store.close()
      const calls = {
        begin: () => audiences.begin({ audience: vip, nowMs }),
        take: () => sync.take(member('a')),
        'take of a complete sync': () => complete.tryTake(member('a')),
        release: () => sync.release(),
        list: () => audiences.list(),
        members: () => audiences.members({ key: 'vip', limit: 1, after: null }),
        remove: () => audiences.remove({ key: 'vip' }),
      }
      for (const [name, call] of Object.entries(calls)) {
        await expect(call(), name).rejects.toMatchObject({ code: 'store_closed' })
      }
    })
  })
}
