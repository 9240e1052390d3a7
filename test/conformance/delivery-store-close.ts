import { describe, expect, onTestFinished, test } from 'vitest'
import type { DeliveryStore } from '../../src/delivery/index.ts'
import { delivered, event, StoreUnderTest } from './store-under-test.ts'

/** Tests `close`, and a closed store. */
export function closeSuite(open: () => Promise<DeliveryStore>): void {
  describe('close', () => {
    async function opened(): Promise<StoreUnderTest> {
      const tested = new StoreUnderTest(open)
      await tested.begin()
      onTestFinished(() => tested.store.close())
      return tested
    }

    test('can be called again', async () => {
      const { store } = await opened()
      await Promise.all([store.close(), store.close()])
      await expect(store.close()).resolves.toBeUndefined()
    })

    test('makes every other method reject with store_closed', async () => {
      const tested = await opened()
      const delivery = await tested.leaseOne()
      await tested.store.close()
      const calls = {
        add: () => tested.add([event('m_2', 'crm')]),
        claim: () => tested.claim('crm'),
        settle: () => tested.settle(delivered(delivery)),
        checkWritable: () => tested.store.checkWritable(),
        nextDue: () => tested.nextDue('crm'),
        ledger: () => tested.store.ledger(),
        list: () => tested.list(),
        story: () => tested.store.story(delivery),
        retry: () => tested.retry(),
        discard: () => tested.discard(),
        purge: () => tested.purge({}),
        audit: () => tested.store.audit(),
      }
      for (const [name, call] of Object.entries(calls)) {
        await expect(call(), name).rejects.toMatchObject({ code: 'store_closed' })
      }
    })
  })
}
