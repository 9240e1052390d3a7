import { describe, expect, test } from 'vitest'
import type { ChangePosition, DeliveryFilter } from '../../src/delivery/index.ts'
import {
  delivered,
  ended,
  event,
  events,
  messageIds,
  nowMs,
  requestOf,
  retried,
  type StoreUnderTest,
} from './store-under-test.ts'

/** Tests of `retry`, which retries deliveries manually. */
export function retrySuite(tested: StoreUnderTest): void {
  describe('retry', () => {
    startsNewWindow(tested)
    ignores(tested)
    selects(tested)
  })
}

/** The fields of a delivery after a manual retry. */
const newWindow = {
  state: 'pending',
  lane: 'manual',
  dueAtMs: nowMs,
  attempts: 5,
  windowAttempts: 0,
  firstAttemptAtMs: null,
  holds: [],
  expiresAtMs: null,
  settledAtMs: null,
  reason: null,
  manualRetries: 1,
}

/** The progress of earlier rounds. A manual retry resets all of it but `attempts`. */
const progress = {
  attempts: 5,
  windowAttempts: 5,
  firstAttemptAtMs: nowMs - 900,
  holds: [{ url: 'https://example.com/a', untilMs: null }],
}

function startsNewWindow(tested: StoreUnderTest): void {
  test.each(['failed', 'expired'] as const)(
    'makes %s deliveries due at once, and counts them as pending again',
    async (kind) => {
      await tested.settle(retried(await tested.leaseOne(), nowMs, progress))
      const delivery = await tested.claimOne('crm', { lane: 'retry' })
      const request = requestOf(delivery)
      await tested.log([request], { kind, delivery, attempts: 5, reason: 'status_410' })
      expect(await tested.store.ledger()).toMatchObject({ [kind]: 1, pending: 0 })

      expect(await tested.retry()).toBe(1)
      expect(await tested.store.ledger()).toMatchObject({ [kind]: 0, pending: 1, deliveries: 1 })
      const story = await tested.story(delivery)
      expect(story).toMatchObject({ ...newWindow, acceptedAtMs: nowMs })
      expect(story.requests).toEqual([request])
      expect(await tested.nextDue('crm')).toEqual([
        { destinationId: 'crm', lane: 'manual', dueAtMs: nowMs },
      ])
      expect(await tested.claim('crm', { lane: 'retry' })).toEqual([])
      expect(await tested.claimOne('crm', { lane: 'manual' })).toMatchObject({
        id: delivery.id,
        body: delivery.body,
        lane: 'manual',
        dueAtMs: nowMs,
        attempts: 5,
        windowAttempts: 0,
        firstAttemptAtMs: null,
        holds: [],
      })
    },
  )

  test('makes scheduled retries due at once', async () => {
    const leased = await tested.leaseOne()
    await tested.settle(retried(leased, nowMs + 3_600_000, progress))
    expect(await tested.retry()).toBe(1)
    expect(await tested.story(leased)).toMatchObject(newWindow)
    expect(await tested.store.ledger()).toMatchObject({ pending: 1, deliveries: 1 })
    expect(await tested.nextDue('crm')).toMatchObject([{ lane: 'manual', dueAtMs: nowMs }])
    expect(await tested.claim('crm', { lane: 'retry', dueByMs: nowMs + 3_600_000 })).toEqual([])
    expect(await tested.claim('crm', { lane: 'manual' })).toHaveLength(1)
  })

  test('can be repeated after the delivery has ended again', async () => {
    const first = await tested.failOne()
    expect(await tested.retry()).toBe(1)
    const second = await tested.claimOne('crm', { lane: 'manual' })
    await tested.settle(ended('expired', second))
    expect(await tested.story(first)).toMatchObject({
      state: 'expired',
      manualRetries: 1,
      lane: 'manual',
      attempts: 2,
    })
    expect(await tested.store.ledger()).toMatchObject({ failed: 0, expired: 1, pending: 0 })
    expect(await tested.retry()).toBe(1)
    const third = await tested.claimOne('crm', { lane: 'manual' })
    await tested.settle(delivered(third))
    expect(await tested.story(first)).toMatchObject({ state: 'delivered', manualRetries: 2 })
    expect(await tested.store.ledger()).toMatchObject({ delivered: 1, expired: 0, pending: 0 })
    await tested.settle(delivered(first), delivered(second))
    expect(await tested.store.ledger()).toMatchObject({ delivered: 1, deliveries: 1 })
  })

  test('leads to the lane retry if the round fails again', async () => {
    await tested.failOne()
    await tested.retry()
    const delivery = await tested.claimOne('crm', { lane: 'manual' })
    await tested.settle(retried(delivery))
    expect(await tested.claimOne('crm', { lane: 'retry' })).toMatchObject({
      attempts: 2,
      windowAttempts: 1,
      firstAttemptAtMs: nowMs,
    })
  })
}

function ignores(tested: StoreUnderTest): void {
  test('ignores delivered deliveries', async () => {
    const delivery = await tested.leaseOne()
    await tested.settle(delivered(delivery))
    expect(await tested.retry({ states: ['delivered'] })).toBe(0)
    expect(await tested.retry({ id: delivery.id, destinationId: 'crm' })).toBe(0)
    expect(await tested.story(delivery)).toMatchObject({ state: 'delivered', manualRetries: 0 })
    expect(await tested.claim('crm', { lane: 'manual' })).toEqual([])
  })

  test('ignores deliveries that wait for their first round', async () => {
    await tested.add([event('m_1', 'crm')])
    expect(await tested.retry()).toBe(0)
    expect(await tested.list()).toMatchObject([{ lane: 'first', manualRetries: 0 }])
  })

  test('ignores leased deliveries', async () => {
    const first = await tested.leaseOne('m_1')
    expect(await tested.retry()).toBe(0)
    await tested.settle(retried(first))
    const second = await tested.claimOne('crm', { lane: 'retry' })
    expect(await tested.retry()).toBe(0)
    await tested.settle(ended('failed', second))
    expect(await tested.store.ledger()).toMatchObject({ failed: 1, pending: 0 })
    expect(await tested.list()).toMatchObject([{ state: 'failed', manualRetries: 0 }])
  })

  test('ignores deliveries that already wait for a manual retry', async () => {
    await tested.failOne()
    expect(await tested.retry()).toBe(1)
    expect(await tested.retry()).toBe(0)
    expect(await tested.list()).toMatchObject([{ manualRetries: 1 }])
    const delivery = await tested.claimOne('crm', { lane: 'manual' })
    expect(await tested.retry()).toBe(0)
    await tested.settle({ kind: 'returned', delivery, dueAtMs: nowMs })
    expect(await tested.retry()).toBe(0)
  })
}

function selects(tested: StoreUnderTest): void {
  test('retries the deliveries that match the filter', async () => {
    await tested.add(events(3, 'crm', 'mail'))
    const leased = [...(await tested.claim('crm')), ...(await tested.claim('mail'))]
    const [first, second, third, fourth, fifth, sixth] = leased
    await tested.settle(
      ended('failed', first!),
      ended('expired', second!),
      retried(third!, nowMs + 9_000),
      ended('failed', fourth!),
      ended('expired', fifth!),
      delivered(sixth!),
    )
    expect(await tested.retry({ destinationId: 'crm', states: ['expired'] })).toBe(1)
    expect(messageIds(await tested.claim('crm', { lane: 'manual' }))).toEqual(['m_2'])
    expect(await tested.retry({ destinationId: 'mail', id: fifth!.id })).toBe(1)
    expect(messageIds(await tested.claim('mail', { lane: 'manual' }))).toEqual(['m_2'])
    expect(await tested.retry({ messageId: 'm_1', sinceMs: nowMs, untilMs: nowMs })).toBe(0)
    expect(await tested.retry({ userId: 'u_2' })).toBe(0)
    expect(await tested.retry({ types: ['page'] })).toBe(0)
    expect(await tested.retry({ states: ['pending'] })).toBe(1)
    expect(messageIds(await tested.claim('crm', { lane: 'manual' }))).toEqual(['m_3'])
    expect(await tested.retry({ messageId: 'm_1', types: ['track'], userId: 'u_1' })).toBe(2)
    expect(await tested.retry()).toBe(0)
    expect(await tested.store.ledger()).toMatchObject({ pending: 5, delivered: 1 })
  })

  test('retries no more than the limit, and returns 0 when none is left', async () => {
    await tested.add(events(5, 'crm'))
    const leased = await tested.claim('crm')
    await tested.settle(
      ...leased.map((delivery, index) =>
        index < 3 ? ended('failed', delivery) : retried(delivery, nowMs + 9_000),
      ),
    )
    expect(await tested.retry({}, { limit: 0 })).toBe(0)
    expect(await tested.retry({}, { limit: 2 })).toBe(2)
    expect(await tested.list({ states: ['pending'] })).not.toHaveLength(5)
    expect(await tested.retry({}, { limit: 2 })).toBe(2)
    expect(await tested.retry({}, { limit: 2 })).toBe(1)
    expect(await tested.retry({}, { limit: 2 })).toBe(0)
    expect(messageIds(await tested.claim('crm', { lane: 'manual' }))).toEqual(messageIds(events(5)))
    expect(await tested.store.ledger()).toMatchObject({ failed: 0, pending: 5 })
  })

  test('retries only deliveries that had failed, expired or been tried by the given time', async () => {
    await tested.add(events(3, 'crm'))
    const [first, second, third] = await tested.claim('crm')
    await tested.settle(
      ended('failed', first!),
      ended('expired', second!),
      retried(third!, nowMs + 9_000),
    )
    expect(await tested.retry({}, { atMs: nowMs - 1 })).toBe(0)
    for (const delivery of [first!, second!, third!]) {
      const { destinationId, id } = delivery
      expect(await tested.retry({ destinationId, id }, { atMs: nowMs - 1 })).toBe(0)
    }
    expect(await tested.retry({}, { atMs: nowMs })).toBe(3)
  })

  test('ignores deliveries that fail again after the given time', async () => {
    await tested.add(events(4, 'crm'))
    await tested.settle(...(await tested.claim('crm')).map((each) => ended('failed', each)))
    expect(await tested.retry({}, { atMs: nowMs, limit: 2 })).toBe(2)
    const [first, second] = await tested.claim('crm', { lane: 'manual' })
    const laterMs = nowMs + 1
    await tested.settleAt(
      laterMs,
      ended('failed', first!),
      retried(second!, laterMs, { firstAttemptAtMs: laterMs }),
    )
    expect(await tested.retry({}, { atMs: nowMs, limit: 3 })).toBe(2)
    expect(await tested.retry({}, { atMs: nowMs })).toBe(0)
    expect(await tested.retry({}, { atMs: laterMs })).toBe(2)
  })

  test('continues after the deliveries that an earlier call searched', async () => {
    await tested.add(events(4, 'crm', 'mail'))
    for (const destinationId of ['crm', 'mail']) {
      for (const [index, delivery] of (await tested.claim(destinationId)).entries()) {
        await tested.settleAt(nowMs + index, ended('failed', delivery))
      }
    }
    const all = { nowMs: nowMs + 9, limit: 1 }
    const found = async (filter: DeliveryFilter, after: ChangePosition | null) => {
      const request = { ...all, filter, after: after ?? undefined }
      return (await tested.store.retry(request)).next
    }
    const first = await found({ messageId: 'm_2' }, null)
    const second = await found({ messageId: 'm_1' }, first)
    // The m_1 of crm failed before its m_2, so only the one of mail is found.
    expect(await tested.list({ destinationId: 'crm', messageId: 'm_1' })).toMatchObject([
      { state: 'failed' },
    ])
    expect(await tested.list({ destinationId: 'mail', messageId: 'm_1' })).toMatchObject([
      { state: 'pending' },
    ])
    const rest = await tested.store.retry({ ...all, limit: 10, filter: {}, after: second! })
    expect(rest).toEqual({ deliveries: 3, next: null })
  })

  test('retries each delivery once when called concurrently', async () => {
    await tested.add(events(4, 'crm'))
    const leased = await tested.claim('crm')
    await tested.settle(...leased.map((delivery) => ended('failed', delivery)))
    const counts = await Promise.all([tested.retry(), tested.retry(), tested.retry()])
    expect(counts.reduce((sum, count) => sum + count)).toBe(4)
    expect(await tested.store.ledger()).toMatchObject({ failed: 0, pending: 4 })
    expect(await tested.claim('crm', { lane: 'manual' })).toHaveLength(4)
  })
}
