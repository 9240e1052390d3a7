import { describe, expect, test } from 'vitest'
import { emptyLedger } from '../../src/model/index.ts'
import {
  delivered,
  deliveredAtOnce,
  ended,
  event,
  events,
  messageIds,
  nowMs,
  requestOf,
  retried,
  returned,
  type StoreUnderTest,
} from './store-under-test.ts'

/** Tests of `settle`. */
export function settleSuite(tested: StoreUnderTest): void {
  describe('settle', () => {
    ends(tested)
    retries(tested)
    returns(tested)
    checksLeases(tested)
    logs(tested)
  })
}

function ends(tested: StoreUnderTest): void {
  test.each(['delivered', 'failed', 'expired'] as const)(
    'ends a delivery as %s, and counts it',
    async (kind) => {
      const delivery = await tested.leaseOne()
      await tested.settle({ kind, delivery, attempts: 7, reason: 'status_404' })
      expect(await tested.store.ledger()).toEqual({
        ...emptyLedger,
        accepted: 1,
        routed: 1,
        deliveries: 1,
        [kind]: 1,
      })
      expect(await tested.nextDue('crm')).toEqual([])
      expect(await tested.claim('crm', { dueByMs: nowMs + 3_600_000 })).toEqual([])
      expect(await tested.story(delivery)).toMatchObject({
        state: kind,
        attempts: 7,
        reason: kind === 'delivered' ? null : 'status_404',
        lane: 'first',
        dueAtMs: null,
        settledAtMs: nowMs,
        body: delivery.body,
      })
    },
  )

  test('ends several leases at once', async () => {
    await tested.add([event('m_1', 'crm'), event('m_2', 'crm'), event('m_3', 'mail')])
    const [first, second] = await tested.claim('crm')
    const third = await tested.claimOne('mail')
    const settlements = [delivered(first!), returned(second!), ended('failed', third)]
    expect(new Set(await tested.settle(...settlements))).toEqual(new Set(settlements))
    expect(await tested.store.ledger()).toMatchObject({ delivered: 1, failed: 1, pending: 1 })
    await tested.settle()
    expect(await tested.store.ledger()).toMatchObject({ delivered: 1, failed: 1, pending: 1 })
  })
}

function retries(tested: StoreUnderTest): void {
  const retry = {
    kind: 'retry',
    dueAtMs: nowMs + 10_000,
    expiresAtMs: nowMs + 14_400_000,
    reason: 'timeout, status_503',
    progress: {
      attempts: 5,
      windowAttempts: 2,
      firstAttemptAtMs: nowMs - 30,
      holds: [
        { url: 'https://example.com/a', untilMs: null },
        { url: 'https://example.com/b', untilMs: nowMs + 60_000 },
      ],
    },
  } as const

  test('keeps a retry in the lane retry until it is due, with its progress', async () => {
    const delivery = await tested.leaseOne()
    await tested.settle({ ...retry, delivery })
    expect(await tested.nextDue('crm')).toEqual([
      { destinationId: 'crm', lane: 'retry', dueAtMs: nowMs + 10_000 },
    ])
    expect(await tested.claim('crm', { dueByMs: nowMs + 10_000 })).toEqual([])
    expect(await tested.story(delivery)).toMatchObject({
      ...retry.progress,
      state: 'pending',
      lane: 'retry',
      dueAtMs: nowMs + 10_000,
      expiresAtMs: nowMs + 14_400_000,
      settledAtMs: null,
      reason: retry.reason,
    })
    const again = await tested.claimOne('crm', { lane: 'retry', dueByMs: nowMs + 10_000 })
    expect(again).toMatchObject({
      ...retry.progress,
      id: delivery.id,
      messageId: 'm_1',
      body: delivery.body,
      lane: 'retry',
      dueAtMs: nowMs + 10_000,
    })
  })

  test('stores the given progress of a retry, even if it is less than before', async () => {
    await tested.settle({ ...retry, delivery: await tested.leaseOne() })
    const progress = { attempts: 3, windowAttempts: 0, firstAttemptAtMs: null, holds: [] }
    const again = await tested.claimOne('crm', { lane: 'retry', dueByMs: nowMs + 10_000 })
    await tested.settle({ ...retry, delivery: again, dueAtMs: nowMs, progress })
    expect(await tested.claimOne('crm', { lane: 'retry' })).toMatchObject(progress)
    expect(await tested.store.ledger()).toMatchObject({ deliveries: 1, pending: 1 })
  })

  test('orders retries by due time', async () => {
    await tested.add(events(3, 'crm'))
    const [first, second, third] = await tested.claim('crm')
    await tested.settle(
      retried(first!, nowMs - 1),
      retried(second!, nowMs - 3),
      retried(third!, nowMs - 2),
    )
    const again = await tested.claim('crm', { lane: 'retry' })
    expect(messageIds(again)).toEqual(['m_2', 'm_3', 'm_1'])
  })

  test('keeps the lane of the last round when a delivery ends', async () => {
    await tested.settle(retried(await tested.leaseOne()))
    const delivery = await tested.claimOne('crm', { lane: 'retry' })
    await tested.settle(delivered(delivery))
    expect(await tested.story(delivery)).toMatchObject({ state: 'delivered', lane: 'retry' })
  })
}

function returns(tested: StoreUnderTest): void {
  test('returns a delivery with the given due time, and counts no attempt', async () => {
    const delivery = await tested.leaseOne()
    await tested.settle(returned(delivery, nowMs + 50))
    expect(await tested.nextDue('crm')).toMatchObject([{ lane: 'first', dueAtMs: nowMs + 50 }])
    expect(await tested.claim('crm')).toEqual([])
    expect(await tested.claimOne('crm', { dueByMs: nowMs + 50 })).toMatchObject({
      messageId: 'm_1',
      lane: 'first',
      dueAtMs: nowMs + 50,
      attempts: 0,
      windowAttempts: 0,
      firstAttemptAtMs: null,
      holds: [],
    })
  })

  test.each(['retry', 'manual'] as const)(
    'keeps the lane %s, the progress and the last reason of a returned delivery',
    async (lane) => {
      await tested.settle(retried(await tested.leaseOne()))
      if (lane === 'manual') await tested.retry()
      const before = await tested.claimOne('crm', { lane })
      const { expiresAtMs, reason } = await tested.story(before)
      expect(reason).toBe(lane === 'retry' ? 'status_503' : null)
      await tested.settle(returned(before, nowMs - 5))
      const after = await tested.claimOne('crm', { lane })
      const { attempts, windowAttempts, firstAttemptAtMs, holds } = before
      const progress = { attempts, windowAttempts, firstAttemptAtMs, holds }
      expect(after).toMatchObject({ ...progress, lane, dueAtMs: nowMs - 5 })
      expect(attempts).toBe(1)
      expect(await tested.story(after)).toMatchObject({ expiresAtMs, reason })
    },
  )

  test('orders returned deliveries by their new due time', async () => {
    await tested.add(events(3, 'crm'))
    const [, , third] = await tested.claim('crm')
    await tested.settle(returned(third!, nowMs - 1))
    await tested.add([event('m_4', 'crm')], { atMs: nowMs - 2 })
    expect(messageIds(await tested.claim('crm'))).toEqual(['m_4', 'm_3'])
  })
}

function checksLeases(tested: StoreUnderTest): void {
  test('changes nothing when called twice with one lease', async () => {
    const delivery = await tested.leaseOne()
    await tested.settle(delivered(delivery))
    for (const again of [ended('failed', delivery), retried(delivery), returned(delivery)]) {
      expect(await tested.settle(again)).toEqual([])
    }
    expect(await tested.store.ledger()).toMatchObject({ delivered: 1, failed: 0, pending: 0 })
    expect(await tested.claim('crm')).toEqual([])
    expect(await tested.claim('crm', { lane: 'retry' })).toEqual([])
    expect(await tested.story(delivery)).toMatchObject({ state: 'delivered', attempts: 1 })
  })

  test('counts one settlement of a lease: the first in a batch, and either of two concurrent ones', async () => {
    await tested.add(events(2, 'crm'))
    const [first, second] = await tested.claim('crm')
    await tested.settle(delivered(first!), ended('expired', first!), returned(first!))
    expect(await tested.store.ledger()).toMatchObject({ delivered: 1, expired: 0, pending: 1 })
    await Promise.all([tested.settle(ended('failed', second!)), tested.settle(delivered(second!))])
    const { delivered: count, failed, pending } = await tested.store.ledger()
    expect([count + failed, pending]).toEqual([2, 0])
  })

  test.each([
    ['retry', retried, 'retry'],
    ['returned', returned, 'first'],
  ] as const)(
    'ignores a lease that ended as %s once the delivery is leased again',
    async (_name, settlement, lane) => {
      const before = await tested.leaseOne()
      await tested.settle(settlement(before))
      const after = await tested.claimOne('crm', { lane })
      await tested.settle(ended('failed', before))
      await tested.settle(returned(before))
      expect(await tested.store.ledger()).toMatchObject({ failed: 0, pending: 1 })
      expect(await tested.claim('crm', { lane })).toEqual([])
      await tested.settle(delivered(after))
      expect(await tested.store.ledger()).toMatchObject({ delivered: 1, pending: 0 })
    },
  )

  test('ignores an ended lease while the delivery waits', async () => {
    const before = await tested.leaseOne()
    await tested.settle(retried(before, nowMs + 1_000))
    await tested.settle(delivered(before))
    expect(await tested.store.ledger()).toMatchObject({ delivered: 0, pending: 1 })
    expect(await tested.nextDue('crm')).toMatchObject([{ lane: 'retry', dueAtMs: nowMs + 1_000 }])
  })

  test('identifies a lease by its number, not by the object', async () => {
    const delivery = await tested.leaseOne()
    await tested.settle(delivered({ ...delivery, lease: delivery.lease + 1_000 }))
    expect(await tested.store.ledger()).toMatchObject({ delivered: 0, pending: 1 })
    await tested.settle(delivered({ ...delivery }))
    expect(await tested.store.ledger()).toMatchObject({ delivered: 1, pending: 0 })
  })
}

const success = { outcome: 'success', status: 204, error: null } as const

function logs(tested: StoreUnderTest): void {
  test('logs every request of a delivery, in the order of their start', async () => {
    const delivery = await tested.leaseOne()
    const first = requestOf(delivery, {
      url: 'https://example.com/a',
      atMs: nowMs - 90,
      outcome: 'final',
      status: null,
      error: 'DEPTH_ZERO_SELF_SIGNED_CERT',
      durationMs: 0,
      excerpt: '',
    })
    const second = requestOf(delivery, { url: 'https://example.com/b', atMs: nowMs - 80 })
    await tested.log([second, first], retried(delivery))
    const again = await tested.claimOne('crm', { lane: 'retry' })
    const fourth = requestOf(again, { atMs: nowMs - 10, ...success })
    const third = requestOf(again, { atMs: nowMs - 20, url: 'https://example.com/b' })
    await tested.log([fourth], delivered(again))
    await tested.log([third])
    expect((await tested.story(delivery)).requests).toEqual([first, second, third, fourth])
  })

  test('logs a request whatever the state of its delivery', async () => {
    const delivery = await tested.leaseOne()
    const requests = [1, 2, 3].map((attempt) => requestOf(delivery, { attempt, atMs: attempt }))
    await tested.log([requests[0]!])
    expect((await tested.story(delivery)).state).toBe('pending')
    await tested.settle(delivered(delivery))
    await tested.log([requests[1]!])
    await tested.log([requests[2]!], ended('failed', delivery))
    const story = await tested.story(delivery)
    expect(story.state).toBe('delivered')
    expect(story.requests).toEqual(requests)
  })

  test('logs a successful first try together with other requests of its delivery', async () => {
    await tested.add([event('m_1', 'crm'), event('m_2', 'crm'), event('m_3', 'crm')])
    const leased = await tested.claim('crm')
    const [one, two, three] = leased.map((delivery, index) =>
      requestOf(delivery, { ...success, atMs: nowMs - index, excerpt: `ok \0 ${index}` }),
    )
    const before = requestOf(leased[1]!, { atMs: nowMs - 20, url: 'https://example.com/b' })
    const requests = [one!, two!, three!]
    await tested.log(
      [before],
      ...leased.map((delivery, index) => deliveredAtOnce(delivery, requests[index]!)),
    )
    const after = requestOf(leased[2]!, { ...success, atMs: nowMs + 5 })
    await tested.log([after])
    const stories = await Promise.all(leased.map((delivery) => tested.story(delivery)))
    expect(stories.map(({ requests }) => requests)).toEqual([[one], [before, two], [three, after]])
    expect(stories.map(({ state, attempts }) => [state, attempts])).toEqual(
      Array<unknown>(3).fill(['delivered', 1]),
    )
  })

  test('logs a first try even if its lease has ended', async () => {
    const delivery = await tested.leaseOne()
    await tested.settle(ended('failed', delivery))
    const late = requestOf(delivery, success)
    expect(await tested.settle(deliveredAtOnce(delivery, late))).toEqual([])
    expect(await tested.story(delivery)).toMatchObject({ state: 'failed', requests: [late] })
  })

  test('logs each request for its own delivery only', async () => {
    await tested.add([event('m_1', 'crm', 'mail'), event('m_2', 'crm')])
    const leased = [...(await tested.claim('crm')), await tested.claimOne('mail')]
    const requests = leased.map((delivery) => requestOf(delivery))
    await tested.log(requests, ...leased.map(delivered))
    for (const [index, delivery] of leased.entries()) {
      expect((await tested.story(delivery)).requests).toEqual([requests[index]])
    }
  })

  test('drops a request of a purged delivery, and settles the others', async () => {
    const purged = await tested.leaseOne()
    await tested.settle(delivered(purged))
    await tested.purge({ deliveredBeforeMs: nowMs + 1 })
    const delivery = await tested.leaseOne('m_2')
    const requests = [requestOf(purged), requestOf(delivery)]
    await tested.log(requests, delivered(delivery))
    expect(await tested.store.story(purged)).toBeUndefined()
    expect((await tested.story(delivery)).requests).toEqual([requests[1]])
  })
}
