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
    triesAgain(tested)
    givesBack(tested)
    knowsLeases(tested)
    logs(tested)
  })
}

function ends(tested: StoreUnderTest): void {
  test.each(['delivered', 'failed', 'expired'] as const)(
    '%s is an end and is counted',
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

function triesAgain(tested: StoreUnderTest): void {
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

  test('retry waits in the lane retry until it is due, and keeps its fields', async () => {
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

  test('retry writes the progress as it is given, be it more or less than before', async () => {
    await tested.settle({ ...retry, delivery: await tested.leaseOne() })
    const progress = { attempts: 3, windowAttempts: 0, firstAttemptAtMs: null, holds: [] }
    const again = await tested.claimOne('crm', { lane: 'retry', dueByMs: nowMs + 10_000 })
    await tested.settle({ ...retry, delivery: again, dueAtMs: nowMs, progress })
    expect(await tested.claimOne('crm', { lane: 'retry' })).toMatchObject(progress)
    expect(await tested.store.ledger()).toMatchObject({ deliveries: 1, pending: 1 })
  })

  test('retries are leased by when they are due', async () => {
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

  test('an end keeps the lane of its last round', async () => {
    await tested.settle(retried(await tested.leaseOne()))
    const delivery = await tested.claimOne('crm', { lane: 'retry' })
    await tested.settle(delivered(delivery))
    expect(await tested.story(delivery)).toMatchObject({ state: 'delivered', lane: 'retry' })
  })
}

function givesBack(tested: StoreUnderTest): void {
  test('returned takes the given due time, and nothing is counted', async () => {
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
    'returned keeps the lane %s, the progress, and why the round before failed',
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

  test('a delivery that is returned to an earlier moment is leased first', async () => {
    await tested.add(events(3, 'crm'))
    const [, , third] = await tested.claim('crm')
    await tested.settle(returned(third!, nowMs - 1))
    await tested.add([event('m_4', 'crm')], { atMs: nowMs - 2 })
    expect(messageIds(await tested.claim('crm'))).toEqual(['m_4', 'm_3'])
  })
}

function knowsLeases(tested: StoreUnderTest): void {
  test('twice changes nothing', async () => {
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

  test('twice in a batch counts the first, and twice at once counts one', async () => {
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
    'with a lease that ended as %s changes nothing when the delivery is leased again',
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

  test('with a lease that ended changes nothing while the delivery waits', async () => {
    const before = await tested.leaseOne()
    await tested.settle(retried(before, nowMs + 1_000))
    await tested.settle(delivered(before))
    expect(await tested.store.ledger()).toMatchObject({ delivered: 0, pending: 1 })
    expect(await tested.nextDue('crm')).toMatchObject([{ lane: 'retry', dueAtMs: nowMs + 1_000 }])
  })

  test('requires the lease, on any object', async () => {
    const delivery = await tested.leaseOne()
    await tested.settle(delivered({ ...delivery, lease: delivery.lease + 1_000 }))
    expect(await tested.store.ledger()).toMatchObject({ delivered: 0, pending: 1 })
    await tested.settle(delivered({ ...delivery }))
    expect(await tested.store.ledger()).toMatchObject({ delivered: 1, pending: 0 })
  })
}

const success = { outcome: 'success', status: 204, error: null } as const

function logs(tested: StoreUnderTest): void {
  test('writes every request of a delivery, in the order they started', async () => {
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

  test('writes a request whatever the outcome of its delivery', async () => {
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

  test('writes a first try that succeeded beside other requests of its delivery', async () => {
    await tested.add([event('m_1', 'crm'), event('m_2', 'crm'), event('m_3', 'crm')])
    const leased = await tested.claim('crm')
    const [one, two, three] = leased.map((delivery, place) =>
      requestOf(delivery, { ...success, atMs: nowMs - place, excerpt: `ok \0 ${place}` }),
    )
    const before = requestOf(leased[1]!, { atMs: nowMs - 20, url: 'https://example.com/b' })
    const requests = [one!, two!, three!]
    await tested.log(
      [before],
      ...leased.map((delivery, place) => deliveredAtOnce(delivery, requests[place]!)),
    )
    const after = requestOf(leased[2]!, { ...success, atMs: nowMs + 5 })
    await tested.log([after])
    const stories = await Promise.all(leased.map((delivery) => tested.story(delivery)))
    expect(stories.map(({ requests }) => requests)).toEqual([[one], [before, two], [three, after]])
    expect(stories.map(({ state, attempts }) => [state, attempts])).toEqual(
      Array<unknown>(3).fill(['delivered', 1]),
    )
  })

  test('writes a first try whose lease has ended', async () => {
    const delivery = await tested.leaseOne()
    await tested.settle(ended('failed', delivery))
    const late = requestOf(delivery, success)
    expect(await tested.settle(deliveredAtOnce(delivery, late))).toEqual([])
    expect(await tested.story(delivery)).toMatchObject({ state: 'failed', requests: [late] })
  })

  test('keeps the requests of deliveries apart', async () => {
    await tested.add([event('m_1', 'crm', 'mail'), event('m_2', 'crm')])
    const leased = [...(await tested.claim('crm')), await tested.claimOne('mail')]
    const requests = leased.map((delivery) => requestOf(delivery))
    await tested.log(requests, ...leased.map(delivered))
    for (const [index, delivery] of leased.entries()) {
      expect((await tested.story(delivery)).requests).toEqual([requests[index]])
    }
  })

  test('takes a request of a delivery that is gone, and settles the others', async () => {
    const gone = await tested.leaseOne()
    await tested.settle(delivered(gone))
    await tested.purge({ deliveredBeforeMs: nowMs + 1 })
    const delivery = await tested.leaseOne('m_2')
    const requests = [requestOf(gone), requestOf(delivery)]
    await tested.log(requests, delivered(delivery))
    expect(await tested.store.story(gone)).toBeUndefined()
    expect((await tested.story(delivery)).requests).toEqual([requests[1]])
  })
}
