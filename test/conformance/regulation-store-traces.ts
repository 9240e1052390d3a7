import { describe, expect, test } from 'vitest'
import type { LeasedDelivery } from '../../src/delivery/index.ts'
import type { RequestRecord } from '../../src/model/index.ts'
import {
  eventAbout,
  type EventDetails,
  type RegulationsUnderTest,
} from './regulation-store-under-test.ts'
import { delivered, deliveredAtOnce, ended, nowMs, requestOf, retried } from './store-under-test.ts'

/** Returns the columns of the store that contain a text, except those with the userIds of regulations. */
export type FindText = (text: string) => Promise<readonly string[]>

const userId = 'user-8f1e'

/** Tests that `erase` leaves no traces in the tables. */
export function tracesSuite(tested: RegulationsUnderTest, find: FindText): void {
  /** A request whose answer contains the userId. */
  function echo(delivery: LeasedDelivery, details: Partial<RequestRecord> = {}): RequestRecord {
    return requestOf(delivery, { excerpt: `no user ${userId}`, ...details })
  }

  const success = { outcome: 'success', status: 200, error: null } as const

  function lease(details: EventDetails = {}): Promise<LeasedDelivery> {
    return tested.leaseAbout(userId, { messageId: `${userId} ${leased++}`, ...details })
  }
  let leased = 0

  async function deliver(delivery: LeasedDelivery): Promise<LeasedDelivery> {
    await tested.log([echo(delivery)], retried(delivery))
    const again = await tested.claimOne('crm', { lane: 'retry' })
    await tested.log([echo(again, success)], delivered(again))
    return again
  }

  async function erase(): Promise<void> {
    const id = await tested.create('DELETE_INTERNAL', [userId])
    expect(await tested.erase(id)).toBe('nothing')
  }

  const all = { deliveredBeforeMs: nowMs + 1, failedBeforeMs: nowMs + 1 }

  describe('after an erasure, no column contains', () => {
    test('the userId of deliveries in any state', async () => {
      await deliver(await lease())
      const atOnce = await lease()
      await tested.settle(deliveredAtOnce(atOnce, echo(atOnce, success)))
      for (const kind of ['failed', 'expired'] as const) {
        const delivery = await lease()
        await tested.log([echo(delivery, { outcome: 'final' })], ended(kind, delivery))
      }
      await tested.add([eventAbout('other', { type: 'alias', previousId: userId, to: ['ads'] })])
      const waiting = await lease()
      await tested.log([echo(waiting)], retried(waiting, nowMs + 60_000))
      expect(await find(userId)).not.toEqual([])
      await erase()
      expect(await find(userId)).toEqual([])
    })

    test('the trace context of deliveries, which could identify the user in other systems', async () => {
      const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
      await tested.add([eventAbout(userId)], { traceparent })
      expect(await find(traceparent)).not.toEqual([])
      await erase()
      expect(await find(traceparent)).toEqual([])
    })

    test('the userId of deliveries that were purged before', async () => {
      await deliver(await lease())
      const failed = await lease()
      await tested.log([echo(failed, { outcome: 'final', status: 404 })], ended('failed', failed))
      await tested.purge(all)
      expect(await tested.list()).toEqual([])
      await erase()
      expect(await find(userId)).toEqual([])
    })

    test('the userId of requests that are logged after their delivery was purged or erased', async () => {
      const purged = [await deliver(await lease()), await lease()]
      await tested.settle(ended('failed', purged[1]!))
      await tested.purge(all)
      const erased = await deliver(await lease())
      await tested.log(purged.flatMap((each) => [echo(each), echo(each, success)]))
      await erase()
      await tested.log([...purged, erased].flatMap((each) => [echo(each), echo(each, success)]))
      expect(await find(userId)).toEqual([])
      expect((await tested.story(erased)).requests).toHaveLength(4)
    })
  })
}
