import { describe, expect, test } from 'vitest'
import { eventAbout, type RegulationsUnderTest } from './regulation-store-under-test.ts'
import { delivered, deliveredAtOnce, nowMs, requestOf, returned } from './store-under-test.ts'

/** Tests of `erase` with leased deliveries. */
export function leasedSuite(tested: RegulationsUnderTest): void {
  describe('erase of a leased delivery', () => {
    test.each([1, 100])('waits until it is settled (rowsMax %i)', async (rowsMax) => {
      const delivery = await tested.leaseAbout('u_1')
      await tested.add([eventAbout('u_1')])
      const id = await tested.create('DELETE_INTERNAL', ['u_1'])
      expect(await tested.erase(id, { rowsMax })).toBe('waiting')
      expect(await tested.erase(id, { rowsMax })).toBe('waiting')
      expect(await tested.regulation(id)).toMatchObject({
        isStoreErased: false,
        erased: { pending: 1, settled: 0 },
      })
      expect(await tested.story(delivery)).toMatchObject({ userId: 'u_1', body: delivery.body })
      await tested.settle(returned(delivery))
      expect(await tested.erase(id, { rowsMax })).toBe('nothing')
      expect(await tested.story(delivery)).toMatchObject({
        userId: null,
        body: '',
        state: 'failed',
      })
      expect(await tested.regulation(id)).toMatchObject({
        isStoreErased: true,
        erased: { pending: 2, settled: 0 },
      })
      expect(await tested.claim('crm')).toEqual([])
    })

    test('erases it after it is delivered', async () => {
      const delivery = await tested.leaseAbout('u_1')
      const id = await tested.create('DELETE_INTERNAL', ['u_1'])
      expect(await tested.erase(id)).toBe('waiting')
      const request = requestOf(delivery, { outcome: 'success' })
      await tested.settle(deliveredAtOnce(delivery, request))
      expect(await tested.erase(id)).toBe('nothing')
      expect(await tested.story(delivery)).toMatchObject({
        userId: null,
        body: '',
        state: 'delivered',
        requests: [{ excerpt: '' }],
      })
      expect((await tested.regulation(id)).erased).toMatchObject({ pending: 0, settled: 1 })
    })

    test('erases it after its retry is scheduled', async () => {
      const delivery = await tested.leaseAbout('u_1')
      const id = await tested.create('DELETE_INTERNAL', ['u_1'])
      expect(await tested.erase(id)).toBe('waiting')
      await tested.retryLater(delivery, nowMs + 1_000)
      expect(await tested.erase(id)).toBe('nothing')
      expect(await tested.nextDue('crm')).toEqual([])
    })

    test("keeps its text while the event's other deliveries lose theirs", async () => {
      const body = '{"shared":true}'
      const deliveries = ['ads', 'crm', 'mail'].map((destinationId) => ({ destinationId, body }))
      await tested.add([eventAbout('u_1', { deliveries })])
      const delivery = await tested.claimOne('crm')
      const id = await tested.create('DELETE_INTERNAL', ['u_1'])
      expect(await tested.erase(id)).toBe('waiting')
      expect((await tested.stories()).map((story) => story.body)).toEqual(['', body, ''])
      await tested.settle(returned(delivery))
      expect((await tested.story(delivery)).body).toBe(body)
      expect(await tested.erase(id)).toBe('nothing')
      expect((await tested.stories()).map((story) => story.body)).toEqual(['', '', ''])
    })

    test('ends if it is purged in the meantime', async () => {
      const delivery = await tested.leaseAbout('u_1')
      const id = await tested.create('DELETE_INTERNAL', ['u_1'])
      expect(await tested.erase(id)).toBe('waiting')
      await tested.settle(delivered(delivery))
      await tested.purge({ deliveredBeforeMs: nowMs + 1 })
      expect(await tested.erase(id)).toBe('nothing')
      await tested.expectBalance()
    })
  })
}
