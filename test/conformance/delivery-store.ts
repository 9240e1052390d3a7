import { beforeEach, afterEach, describe, expect, test } from 'vitest'
import type {
  DeliveryStore,
  LeasedDelivery,
  NewEvent,
  Settlement,
} from '../../src/delivery/index.ts'
import { emptyLedger, imbalances } from '../../src/model/index.ts'
import { checkAgainstModel } from './delivery-store-model.ts'

const nowMs = Date.UTC(2026, 0, 2, 3, 4, 5, 678)

/** An event of the source `website` that goes to the given destinations. */
function event(messageId: string, ...destinationIds: readonly string[]): NewEvent {
  return {
    sourceId: 'website',
    messageId,
    type: 'track',
    deliveries: destinationIds.map((destinationId) => ({
      destinationId,
      body: `{"to":"${destinationId}","messageId":"${messageId}"}`,
    })),
  }
}

function retry(delivery: LeasedDelivery, dueAtMs: number): Settlement {
  return {
    kind: 'retry',
    delivery,
    dueAtMs,
    firstAttemptAtMs: delivery.firstAttemptAtMs ?? nowMs,
    refusedUrls: delivery.refusedUrls,
    requests: [],
  }
}

const messageIds = (deliveries: readonly LeasedDelivery[]): readonly string[] =>
  deliveries.map(({ messageId }) => messageId)

/**
 * What every engine of the DeliveryStore port promises.
 *
 * @param open - opens an empty store, which the suite closes
 */
export function deliveryStoreSuite(name: string, open: () => Promise<DeliveryStore>): void {
  describe(`${name} keeps the promises of the DeliveryStore port`, () => {
    let store: DeliveryStore

    beforeEach(async () => {
      store = await open()
    })
    afterEach(() => store.close())

    const add = (events: readonly NewEvent[], atMs = nowMs): Promise<readonly string[]> =>
      store.add({ nowMs: atMs, events })
    const claim = (
      destinationId: string,
      deliveriesMax = 100,
      atMs = nowMs,
    ): Promise<readonly LeasedDelivery[]> =>
      store.claim({ nowMs: atMs, shares: [{ destinationId, deliveriesMax }] })
    const claimOne = async (destinationId: string, atMs = nowMs): Promise<LeasedDelivery> => {
      const [delivery, ...others] = await claim(destinationId, 100, atMs)
      expect(others).toEqual([])
      return delivery!
    }
    const settle = (...settlements: readonly Settlement[]): Promise<void> =>
      store.settle({ nowMs, settlements })
    const nextDueMs = (...destinationIds: readonly string[]): Promise<number | undefined> =>
      store.nextDueMs({ destinationIds })
    const pending = (...destinationIds: readonly string[]): Promise<number> =>
      store.pending({ destinationIds })

    describe('add', () => {
      test('tells what became of each event, in order', async () => {
        const events = [event('m_1', 'crm'), event('m_2'), event('m_1', 'crm'), event('m_3', 'crm')]
        expect(await add(events)).toEqual(['routed', 'filtered', 'duplicate', 'routed'])
      })

      test('knows an event again by its source and messageId', async () => {
        await add([event('m_1', 'crm'), event('m_2')])
        const app = { ...event('m_1', 'crm'), sourceId: 'app' }
        expect(await add([event('m_1', 'crm'), event('m_2', 'crm'), app])).toEqual([
          'duplicate',
          'duplicate',
          'routed',
        ])
        expect(await pending('crm')).toBe(2)
      })

      test('knows an event again after it was delivered', async () => {
        await add([event('m_1', 'crm')])
        await settle({ kind: 'delivered', delivery: await claimOne('crm'), requests: [] })
        expect(await add([event('m_1', 'crm')])).toEqual(['duplicate'])
        expect(await claim('crm')).toEqual([])
      })

      test('makes one delivery per destination', async () => {
        await add([event('m_1', 'crm', 'mail')])
        expect(await claimOne('crm')).toMatchObject({ body: '{"to":"crm","messageId":"m_1"}' })
        expect(await claimOne('mail')).toMatchObject({ body: '{"to":"mail","messageId":"m_1"}' })
      })

      test('takes no events as well', async () => {
        expect(await add([])).toEqual([])
        expect(await store.ledger()).toEqual(emptyLedger)
      })
    })

    describe('claim', () => {
      test('gives out a delivery as it was added', async () => {
        const body = '{"text":"Zoë 🎈 \\u0000 \\ud800 \u2028 \\" \'"}'
        const given = { ...event('m_🎈 \'"', 'crm'), type: 'screen' } as const
        await add([{ ...given, deliveries: [{ destinationId: 'crm', body }] }])
        expect(await claimOne('crm')).toMatchObject({
          destinationId: 'crm',
          messageId: 'm_🎈 \'"',
          type: 'screen',
          body,
          attempts: 0,
          firstAttemptAtMs: null,
          refusedUrls: [],
        })
      })

      test('gives out the oldest first', async () => {
        await add([event('m_3', 'crm')], nowMs - 1)
        await add([event('m_2', 'crm')], nowMs - 2)
        await add([event('m_1', 'crm')], nowMs - 3)
        expect(messageIds(await claim('crm'))).toEqual(['m_1', 'm_2', 'm_3'])
      })

      test('gives out no more than a share, each destination for itself', async () => {
        const events = ['m_1', 'm_2', 'm_3'].map((id) => event(id, 'crm', 'mail', 'ads'))
        await add(events)
        const shares = [
          { destinationId: 'crm', deliveriesMax: 2 },
          { destinationId: 'mail', deliveriesMax: 5 },
          { destinationId: 'ads', deliveriesMax: 0 },
        ]
        const claimed = await store.claim({ nowMs, shares })
        const count = (id: string): number =>
          claimed.filter(({ destinationId }) => destinationId === id).length
        expect([count('crm'), count('mail'), count('ads')]).toEqual([2, 3, 0])
      })

      test('leaves alone what is not due', async () => {
        await add([event('m_1', 'crm')], nowMs + 1)
        expect(await claim('crm')).toEqual([])
        expect(messageIds(await claim('crm', 1, nowMs + 1))).toEqual(['m_1'])
      })

      test('gives out nothing twice', async () => {
        await add([event('m_1', 'crm'), event('m_2', 'crm')])
        const claims = await Promise.all([claim('crm', 1), claim('crm', 1), claim('crm', 1)])
        expect(messageIds(claims.flat()).toSorted()).toEqual(['m_1', 'm_2'])
      })

      test('has nothing for a destination that nothing was added for', async () => {
        await add([event('m_1', 'crm')])
        expect(await claim('unknown')).toEqual([])
        expect(await store.claim({ nowMs, shares: [] })).toEqual([])
        expect(await pending('crm')).toBe(1)
      })
    })

    describe('settle', () => {
      test.each(['delivered', 'failed', 'expired'] as const)(
        '%s is an end and is counted',
        async (kind) => {
          await add([event('m_1', 'crm')])
          const delivery = await claimOne('crm')
          await settle({ kind, delivery, reason: 'status_404', requests: [] })
          expect(await store.ledger()).toEqual({
            ...emptyLedger,
            accepted: 1,
            routed: 1,
            deliveries: 1,
            [kind]: 1,
          })
          expect(await pending('crm')).toBe(0)
          expect(await nextDueMs('crm')).toBeUndefined()
        },
      )

      test('retry waits until it is due, and remembers what was tried', async () => {
        await add([event('m_1', 'crm')])
        const delivery = await claimOne('crm')
        await settle({
          kind: 'retry',
          delivery,
          dueAtMs: nowMs + 10_000,
          firstAttemptAtMs: nowMs - 30,
          refusedUrls: ['https://example.com/a', 'https://example.com/b'],
          requests: [],
        })
        expect(await nextDueMs('crm')).toBe(nowMs + 10_000)
        expect(await claim('crm', 1, nowMs + 9_999)).toEqual([])
        expect(await claimOne('crm', nowMs + 10_000)).toMatchObject({
          messageId: 'm_1',
          body: delivery.body,
          attempts: 1,
          firstAttemptAtMs: nowMs - 30,
          refusedUrls: ['https://example.com/a', 'https://example.com/b'],
        })
      })

      test('retry counts every attempt', async () => {
        await add([event('m_1', 'crm')])
        await settle(retry(await claimOne('crm'), nowMs))
        await settle(retry(await claimOne('crm'), nowMs))
        expect(await claimOne('crm')).toMatchObject({ attempts: 2, firstAttemptAtMs: nowMs })
        expect(await store.ledger()).toMatchObject({ deliveries: 1, pending: 1 })
      })

      test('a retry that is due sooner comes before an event that was added later', async () => {
        await add([event('m_1', 'crm')])
        await settle(retry(await claimOne('crm'), nowMs + 5))
        await add([event('m_2', 'crm')], nowMs + 10)
        await add([event('m_3', 'crm')], nowMs + 1)
        expect(messageIds(await claim('crm', 9, nowMs + 10))).toEqual(['m_3', 'm_1', 'm_2'])
      })

      test('returned is due at once, and nothing is counted', async () => {
        await add([event('m_1', 'crm')])
        const delivery = await claimOne('crm')
        await settle({ kind: 'returned', delivery })
        expect(await nextDueMs('crm')).toBe(nowMs)
        expect(await claimOne('crm')).toMatchObject({
          messageId: 'm_1',
          attempts: 0,
          firstAttemptAtMs: null,
        })
      })

      test('ends several leases at once', async () => {
        await add([event('m_1', 'crm'), event('m_2', 'crm'), event('m_3', 'mail')])
        const [first, second] = await claim('crm')
        const third = await claimOne('mail')
        await settle(
          { kind: 'delivered', delivery: first!, requests: [] },
          { kind: 'returned', delivery: second! },
          { kind: 'failed', delivery: third, reason: 'status_404', requests: [] },
        )
        expect(await store.ledger()).toMatchObject({ delivered: 1, failed: 1, pending: 1 })
        await settle()
        expect(await store.ledger()).toMatchObject({ delivered: 1, failed: 1, pending: 1 })
      })

      test('twice changes nothing', async () => {
        await add([event('m_1', 'crm')])
        const delivery = await claimOne('crm')
        await settle({ kind: 'delivered', delivery, requests: [] })
        await settle({ kind: 'failed', delivery, reason: 'status_404', requests: [] })
        await settle(retry(delivery, nowMs))
        await settle({ kind: 'returned', delivery })
        expect(await store.ledger()).toMatchObject({ delivered: 1, failed: 0, pending: 0 })
        expect(await claim('crm')).toEqual([])
      })

      test('with a lease that ended changes nothing when the delivery is leased anew', async () => {
        await add([event('m_1', 'crm')])
        const ended = await claimOne('crm')
        await settle(retry(ended, nowMs))
        const delivery = await claimOne('crm')
        await settle({ kind: 'failed', delivery: ended, reason: 'status_404', requests: [] })
        expect(await store.ledger()).toMatchObject({ failed: 0, pending: 1 })
        await settle({ kind: 'delivered', delivery, requests: [] })
        expect(await store.ledger()).toMatchObject({ delivered: 1, pending: 0 })
      })
    })

    describe('nextDueMs and pending', () => {
      test('look at the destinations that are asked for', async () => {
        await add([event('m_1', 'crm')], nowMs + 20)
        await add([event('m_2', 'mail'), event('m_3', 'mail')], nowMs + 10)
        expect(await nextDueMs('crm')).toBe(nowMs + 20)
        expect(await nextDueMs('crm', 'mail')).toBe(nowMs + 10)
        expect(await nextDueMs('unknown')).toBeUndefined()
        expect(await nextDueMs()).toBeUndefined()
        expect(await pending('crm')).toBe(1)
        expect(await pending('crm', 'mail', 'unknown')).toBe(3)
        expect(await pending('unknown')).toBe(0)
        expect(await pending()).toBe(0)
      })

      test('leased deliveries are pending, but not due', async () => {
        await add([event('m_1', 'crm')])
        await claimOne('crm')
        expect(await nextDueMs('crm')).toBeUndefined()
        expect(await pending('crm')).toBe(1)
        expect(await store.ledger()).toMatchObject({ pending: 1 })
      })
    })

    describe('ledger', () => {
      test('counts every event and every delivery, and balances', async () => {
        await add([event('m_1', 'crm', 'mail'), event('m_2'), event('m_2'), event('m_3', 'crm')])
        const ledger = await store.ledger()
        expect(ledger).toEqual({
          ...emptyLedger,
          accepted: 4,
          routed: 2,
          filtered: 1,
          duplicate: 1,
          deliveries: 3,
          pending: 3,
        })
        expect(imbalances({ ...ledger, read: 4, rejected: 0 })).toEqual([])
      })

      test('is what it was, whatever happens later', async () => {
        const before = await store.ledger()
        await add([event('m_1', 'crm')])
        expect(before).toEqual(emptyLedger)
      })
    })

    describe('close', () => {
      test('can be called again', async () => {
        await store.close()
        await expect(store.close()).resolves.toBeUndefined()
      })

      test('makes every other method reject with store_closed', async () => {
        await add([event('m_1', 'crm')])
        const delivery = await claimOne('crm')
        await store.close()
        const calls = [
          () => add([event('m_2', 'crm')]),
          () => claim('crm'),
          () => settle({ kind: 'delivered', delivery, requests: [] }),
          () => nextDueMs('crm'),
          () => pending('crm'),
          () => store.ledger(),
        ]
        for (const call of calls)
          await expect(call()).rejects.toMatchObject({ code: 'store_closed' })
      })
    })

    test('agrees with a simple reference after any operations', () => checkAgainstModel(open))
  })
}
