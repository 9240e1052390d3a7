import { describe, expect, test } from 'vitest'
import { emptyLedger } from '../../src/model/index.ts'
import {
  eventAbout,
  notificationAbout,
  type RegulationsUnderTest,
} from './regulation-store-under-test.ts'
import { messageIds, nowMs } from './store-under-test.ts'

/** Tests `create` with notifications. */
export function createSuite(tested: RegulationsUnderTest): void {
  describe('create', () => {
    test('stores notifications as events whose deliveries can be claimed', async () => {
      await tested.create('DELETE_ONLY', ['u_1', 'u_2'], {
        notifications: ['u_1', 'u_2'].map((userId) => {
          return notificationAbout(userId, { to: ['ads', 'crm'] })
        }),
      })
      expect(await tested.store.ledger()).toEqual({
        ...emptyLedger,
        accepted: 2,
        routed: 2,
        deliveries: 4,
        pending: 4,
      })
      const claimed = await tested.claim('crm')
      const common = { type: 'delete', acceptedAtMs: nowMs, lane: 'first' }
      expect(claimed).toMatchObject([common, common])
      expect(claimed.map(({ body }) => body)).toEqual([
        expect.stringContaining('u_1'),
        expect.stringContaining('u_2'),
      ])
      expect(await tested.claim('ads')).toHaveLength(2)
    })

    test('counts a notification without a destination as filtered', async () => {
      const id = await tested.create('DELETE_ONLY', ['u_1'], {
        notifications: [notificationAbout('u_1', { to: [] })],
      })
      expect(await tested.store.ledger()).toMatchObject({ accepted: 1, filtered: 1, deliveries: 0 })
      expect((await tested.regulation(id)).streams).toEqual([])
    })

    test('stores a notification even if its messageId is known', async () => {
      const notifications = [notificationAbout('u_1', { messageId: 'n_1' })]
      await tested.create('DELETE_ONLY', ['u_1'], { notifications })
      await tested.create('DELETE_ONLY', ['u_1'], { notifications })
      expect(messageIds(await tested.claim('crm'))).toEqual(['n_1', 'n_1'])
    })

    test('gives deliveries of notifications ids in sequence with those of events', async () => {
      await tested.add([eventAbout('u_9')])
      await tested.create('DELETE_ONLY', ['u_1'], { notifications: [notificationAbout('u_1')] })
      await tested.add([eventAbout('u_9')])
      const ids = (await tested.claim('crm')).map(({ id }) => id)
      expect(ids).toEqual(ids.toSorted((a, b) => a - b))
      expect(new Set(ids).size).toBe(3)
    })
  })
}
