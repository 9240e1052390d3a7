import { describe, expect, test } from 'vitest'
import type { Share } from '../../src/delivery/index.ts'
import {
  delivered,
  event,
  events,
  messageIds,
  nowMs,
  requestOf,
  retried,
  returned,
  type StoreUnderTest,
} from './store-under-test.ts'

/** Tests of `claim` and `nextDue`. */
export function claimSuite(tested: StoreUnderTest): void {
  describe('claim', () => {
    appliesShares(tested)
    lanes(tested)
    texts(tested)
  })
  describe('nextDue', () => nextDue(tested))
}

/** Makes a share. By default it is large, and covers first tries to `crm` that are due now. */
function share(details: Partial<Share>): Share {
  return { destinationId: 'crm', lane: 'first', deliveriesMax: 9, dueByMs: nowMs, ...details }
}

function appliesShares(tested: StoreUnderTest): void {
  test('leases the oldest deliveries first', async () => {
    await tested.add([event('m_3', 'crm')], { atMs: nowMs - 1 })
    await tested.add([event('m_2', 'crm')], { atMs: nowMs - 2 })
    await tested.add([event('m_1', 'crm')], { atMs: nowMs - 3 })
    expect(messageIds(await tested.claim('crm', { deliveriesMax: 2 }))).toEqual(['m_1', 'm_2'])
    expect(messageIds(await tested.claim('crm'))).toEqual(['m_3'])
  })

  test('leases the lowest id first among deliveries that are due at the same time', async () => {
    await tested.add(events(12, 'crm'))
    const first = await tested.claim('crm')
    expect(messageIds(first)).toEqual(messageIds(events(12)))
    await tested.settle(...first.toReversed().map((delivery) => returned(delivery)))
    expect(messageIds(await tested.claim('crm'))).toEqual(messageIds(events(12)))
  })

  test('leases no more than the share of each destination', async () => {
    await tested.add(events(3, 'crm', 'mail', 'ads'))
    const shares = [
      share({ destinationId: 'crm', deliveriesMax: 2 }),
      share({ destinationId: 'mail', deliveriesMax: 5 }),
      share({ destinationId: 'ads', deliveriesMax: 0 }),
    ]
    const claimed = await tested.store.claim({ nowMs, shares })
    const count = (id: string): number =>
      claimed.filter(({ destinationId }) => destinationId === id).length
    expect([count('crm'), count('mail'), count('ads')]).toEqual([2, 3, 0])
  })

  test('leases from one destination despite the backlog of another', async () => {
    await tested.add(events(300, 'crm'), { atMs: nowMs - 1_000 })
    await tested.add([event('late', 'mail')])
    const shares = ['crm', 'mail'].map((destinationId) =>
      share({ destinationId, deliveriesMax: 1 }),
    )
    const claimed = await tested.store.claim({ nowMs, shares })
    expect(messageIds(claimed).toSorted()).toEqual(['late', 'm_1'])
  })

  test('skips deliveries that are not due by the given time', async () => {
    await tested.add([event('m_1', 'crm')])
    await tested.settle(retried(await tested.claimOne('crm'), nowMs + 10_000))
    const claim = (dueByMs: number): Promise<readonly unknown[]> =>
      tested.claim('crm', { lane: 'retry', dueByMs })
    expect(await claim(nowMs)).toEqual([])
    expect(await claim(nowMs + 9_999)).toEqual([])
    expect(await claim(nowMs + 10_000)).toHaveLength(1)
  })

  test('applies the due time of each share, even before now', async () => {
    await tested.add([event('m_1', 'crm', 'mail')], { atMs: nowMs - 10 })
    await tested.add([event('m_2', 'crm', 'mail')], { atMs: nowMs - 5 })
    const shares = [
      share({ destinationId: 'crm', dueByMs: nowMs - 10 }),
      share({ destinationId: 'mail', dueByMs: nowMs - 11 }),
    ]
    const claimed = await tested.store.claim({ nowMs, shares })
    expect(claimed).toMatchObject([{ destinationId: 'crm', messageId: 'm_1' }])
  })

  test('returns the time of acceptance in every lane', async () => {
    const acceptedAtMs = nowMs - 5_000
    await tested.add([event('m_1', 'crm')], { atMs: acceptedAtMs })
    const first = await tested.claimOne('crm')
    await tested.settle(retried(first))
    const second = await tested.claimOne('crm', { lane: 'retry' })
    await tested.settle(retried(second, nowMs + 1_000))
    expect(await tested.retry()).toBe(1)
    const third = await tested.claimOne('crm', { lane: 'manual' })
    const times = [first, second, third].map((delivery) => delivery.acceptedAtMs)
    expect(times).toEqual([acceptedAtMs, acceptedAtMs, acceptedAtMs])
    expect(third.dueAtMs).toBe(nowMs)
  })

  test('leases no delivery twice', async () => {
    await tested.add(events(2, 'crm'))
    const claims = await Promise.all(
      Array.from({ length: 3 }, () => tested.claim('crm', { deliveriesMax: 1 })),
    )
    expect(messageIds(claims.flat()).toSorted()).toEqual(['m_1', 'm_2'])
  })

  test('returns nothing for an unknown destination', async () => {
    await tested.add([event('m_1', 'crm')])
    expect(await tested.claim('unknown')).toEqual([])
    expect(await tested.store.claim({ nowMs, shares: [] })).toEqual([])
    expect(await tested.claim('crm')).toHaveLength(1)
  })
}

/** Adds `f_1` to `f_3` to the lane `first`, `r_1` to `r_3` to `retry`, and `m_1` to `m_3` to `manual`. */
async function fillLanes(tested: StoreUnderTest): Promise<void> {
  const numbers = [1, 2, 3]
  await tested.add(numbers.map((number) => event(`m_${number}`, 'crm')))
  await tested.settle(...(await tested.claim('crm')).map((delivery) => retried(delivery)))
  expect(await tested.retry()).toBe(3)
  await tested.add(numbers.map((number) => event(`r_${number}`, 'crm')))
  await tested.settle(...(await tested.claim('crm')).map((delivery) => retried(delivery)))
  await tested.add(numbers.map((number) => event(`f_${number}`, 'crm')))
}

function lanes(tested: StoreUnderTest): void {
  test('leases no more than the share of each lane', async () => {
    await fillLanes(tested)
    const shares = [
      share({ lane: 'retry', deliveriesMax: 1 }),
      share({ lane: 'manual', deliveriesMax: 2 }),
      share({ lane: 'first', deliveriesMax: 3 }),
    ]
    const claimed = await tested.store.claim({ nowMs, shares })
    const inLane = (lane: string): readonly string[] =>
      messageIds(claimed.filter((delivery) => delivery.lane === lane))
    expect(inLane('first')).toEqual(['f_1', 'f_2', 'f_3'])
    expect(inLane('retry')).toEqual(['r_1'])
    expect(inLane('manual')).toEqual(['m_1', 'm_2'])
    expect(claimed).toHaveLength(6)
  })

  test.each([
    ['first', ['f_1', 'f_2', 'f_3']],
    ['retry', ['r_1', 'r_2', 'r_3']],
    ['manual', ['m_1', 'm_2', 'm_3']],
  ] as const)('leases only from the lane %s', async (lane, expected) => {
    await fillLanes(tested)
    expect(messageIds(await tested.claim('crm', { lane }))).toEqual(expected)
    expect(await tested.claim('crm', { lane })).toEqual([])
  })
}

const anyText = ` Zoë 🎈 e\u0301 漢字 \u202eabc \u2028 \\u0000 \\ " ' \` $1 %s ; -- \t\r\n\u0001\u007f`

function texts(tested: StoreUnderTest): void {
  test('returns every field as it was added, whatever its characters', async () => {
    const body = JSON.stringify({ anyText, half: '\ud800' })
    const messageId = `m${anyText}`
    await tested.add([
      {
        sourceId: `s${anyText}`,
        messageId,
        type: 'screen',
        userId: `u${anyText}`,
        deliveries: [{ destinationId: 'crm 🎈', body }],
      },
    ])
    const delivery = await tested.claimOne('crm 🎈')
    expect(delivery).toMatchObject({
      destinationId: 'crm 🎈',
      messageId,
      type: 'screen',
      body,
      lane: 'first',
      dueAtMs: nowMs,
      attempts: 0,
      windowAttempts: 0,
      firstAttemptAtMs: null,
      holds: [],
    })
    const filter = { messageId, userId: `u${anyText}`, destinationId: 'crm 🎈' }
    expect(await tested.list(filter)).toMatchObject([{ sourceId: `s${anyText}`, id: delivery.id }])
  })

  test('keeps URLs, errors, excerpts and reasons, whatever their characters', async () => {
    const delivery = await tested.leaseOne()
    const url = `https://example.com/?${anyText}`
    const request = requestOf(delivery, { url, error: anyText, excerpt: anyText.repeat(70) })
    await tested.log([request], retried(delivery, nowMs, { holds: [{ url, untilMs: null }] }))
    const again = await tested.claimOne('crm', { lane: 'retry' })
    expect(again.holds).toEqual([{ url, untilMs: null }])
    await tested.settle({ kind: 'failed', delivery: again, attempts: 2, reason: anyText })
    const story = await tested.story(again)
    expect(story).toMatchObject({ reason: anyText })
    expect(story.requests).toEqual([request])
  })

  test('returns the trace context of a delivery at every try', async () => {
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
    const handOver = [{ destinationId: 'crm', deliveriesMax: 1 }]
    const { leased } = await tested.add([event('m_1', 'crm', 'mail')], { handOver, traceparent })
    await tested.add([event('m_2', 'ads')])
    const claimed = [await tested.claimOne('mail'), await tested.claimOne('ads')]
    await tested.settle(...leased.map((delivery) => retried(delivery)))
    const again = await tested.claimOne('crm', { lane: 'retry' })
    const all = [...leased, ...claimed, again]
    expect(all.map((delivery) => delivery.traceparent)).toEqual([
      traceparent,
      traceparent,
      undefined,
      traceparent,
    ])
  })

  test('keeps the character U+0000', async () => {
    const messageId = 'm\u0000'
    await tested.add([{ ...event(messageId, 'crm'), userId: 'u\u00001' }])
    expect(await tested.outcomes([event('m'), event(messageId)])).toEqual(['filtered', 'duplicate'])
    const delivery = await tested.claimOne('crm')
    expect(delivery).toMatchObject({ messageId })
    const request = requestOf(delivery, { excerpt: '\u0000\u0000PNG\u0000' })
    await tested.log([request], delivered(delivery))
    const [listed] = await tested.list({ userId: 'u\u00001' })
    expect((await tested.story(listed!)).requests).toEqual([request])
  })

  test('keeps every byte of a 32 KB body', async () => {
    const body = JSON.stringify('é🎈'.repeat(5_400))
    await tested.add([{ ...event('m_1'), deliveries: [{ destinationId: 'crm', body }] }])
    expect((await tested.claimOne('crm')).body === body).toBe(true)
  })
}

function nextDue(tested: StoreUnderTest): void {
  test('covers only the given destinations', async () => {
    await tested.add([event('m_1', 'crm')], { atMs: nowMs + 20 })
    await tested.add([event('m_2', 'mail'), event('m_3', 'mail')], { atMs: nowMs + 10 })
    const crm = { destinationId: 'crm', lane: 'first', dueAtMs: nowMs + 20 }
    const mail = { destinationId: 'mail', lane: 'first', dueAtMs: nowMs + 10 }
    expect(await tested.nextDue('crm')).toEqual([crm])
    expect(await tested.nextDue('crm', 'mail', 'unknown')).toEqual([crm, mail])
    expect(await tested.nextDue('unknown')).toEqual([])
    await tested.add([event('m_4', 'odd\0"\ud800')])
    expect(await tested.nextDue('odd', 'odd\0"\ud800')).toMatchObject([{ dueAtMs: nowMs }])
    expect(await tested.nextDue()).toEqual([])
  })

  test('returns the earliest due time of each lane', async () => {
    await fillLanes(tested)
    const due = (lane: string, dueAtMs: number): object => ({ destinationId: 'crm', lane, dueAtMs })
    await tested.claim('crm')
    const waiting = await tested.claim('crm', { lane: 'retry' })
    await tested.settle(
      ...waiting.map((delivery, index) => retried(delivery, nowMs + 3_000 - index * 1_000)),
    )
    expect(await tested.nextDue('crm')).toEqual([due('manual', nowMs), due('retry', nowMs + 1_000)])
  })

  test('skips leased deliveries', async () => {
    await tested.add([event('m_1', 'crm')], { atMs: nowMs - 2 })
    await tested.add([event('m_2', 'crm')], { atMs: nowMs - 1 })
    const [first] = await tested.claim('crm', { deliveriesMax: 1 })
    expect(await tested.nextDue('crm')).toMatchObject([{ dueAtMs: nowMs - 1 }])
    const second = await tested.claimOne('crm')
    expect(await tested.nextDue('crm')).toEqual([])
    await tested.settle(delivered(first!), returned(second, nowMs + 7))
    expect(await tested.nextDue('crm')).toMatchObject([{ lane: 'first', dueAtMs: nowMs + 7 }])
  })
}
