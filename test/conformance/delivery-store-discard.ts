import { describe, expect, test } from 'vitest'
import {
  delivered,
  event,
  events,
  nowMs,
  retried,
  type StoreUnderTest,
} from './store-under-test.ts'

/** Tests of `discard`, which ends pending deliveries without sending them. */
export function discardSuite(tested: StoreUnderTest): void {
  describe('discard', () => {
    test('fails deliveries in every lane', async () => {
      await tested.settle(retried(await tested.leaseOne('m_1'), nowMs + 60_000))
      await tested.failOne('m_2')
      await tested.retry({ messageId: 'm_2' })
      await tested.add([event('m_3', 'crm')])
      expect(await tested.discard()).toBe(3)
      expect(await tested.store.ledger()).toMatchObject({ pending: 0, failed: 3, deliveries: 3 })
      const ended = { state: 'failed', reason: 'discarded', settledAtMs: nowMs, dueAtMs: null }
      expect(await tested.list()).toMatchObject([ended, ended, ended])
      expect(await tested.nextDue('crm')).toEqual([])
      expect(await tested.discard()).toBe(0)
    })

    test('leaves deliveries that are retried only by id or messageId', async () => {
      await tested.add([...events(2, 'crm'), event('m_3', 'crm', 'mail')])
      expect(await tested.discard()).toBe(4)
      await tested.failOne('m_4')
      const filters = [
        {},
        { destinationId: 'crm' },
        { states: ['failed'] },
        { userId: 'u_1' },
      ] as const
      expect(await tested.retry({ states: ['failed'], destinationId: 'crm' })).toBe(1)
      for (const filter of filters) expect(await tested.retry(filter)).toBe(0)
      const [first] = await tested.list({ messageId: 'm_1' })
      expect(await tested.retry({ destinationId: 'crm', id: first!.id })).toBe(1)
      expect(await tested.retry({ messageId: 'm_3' })).toBe(2)
      expect(await tested.claim('crm', { lane: 'manual' })).toHaveLength(3)
      expect(await tested.store.ledger()).toMatchObject({ pending: 4, failed: 1 })
    })

    test('ignores leased, ended and later deliveries', async () => {
      const sent = await tested.leaseOne('m_1')
      await tested.settle(delivered(sent))
      const leased = await tested.leaseOne('m_2')
      await tested.add([event('m_3', 'crm')], { atMs: nowMs + 1 })
      expect(await tested.discard()).toBe(0)
      await tested.settle(delivered(leased))
      expect(await tested.store.ledger()).toMatchObject({ delivered: 2, pending: 1, failed: 0 })
    })

    test('discards the deliveries that match a filter, up to a limit', async () => {
      await tested.add([...events(3, 'crm'), event('m_other', 'mail')])
      expect(await tested.discard({ destinationId: 'mail' })).toBe(1)
      expect(await tested.discard({ destinationId: 'crm' }, { limit: 2 })).toBe(2)
      const [remaining] = await tested.list({ states: ['pending'] })
      expect(await tested.discard({ destinationId: 'crm', id: remaining!.id })).toBe(1)
      expect(await tested.discard({ messageId: 'm_unknown' })).toBe(0)
      expect(await tested.store.ledger({ destinationId: 'crm' })).toMatchObject({ failed: 3 })
      expect(await tested.store.ledger({ destinationId: 'mail' })).toMatchObject({ failed: 1 })
    })
  })
}
