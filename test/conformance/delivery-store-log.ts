import { describe, expect, test } from 'vitest'
import type { LeasedDelivery } from '../../src/delivery/index.ts'
import {
  delivered,
  ended,
  event,
  messageIds,
  nowMs,
  requestOf,
  retried,
  type StoreUnderTest,
} from './store-under-test.ts'

/** Tests of `list` and `story`. */
export function logSuite(tested: StoreUnderTest): void {
  describe('list', () => {
    lists(tested)
    filters(tested)
    pages(tested)
  })
  describe('story', () => stories(tested))
}

function lists(tested: StoreUnderTest): void {
  test('is empty in an empty store', async () => {
    expect(await tested.list()).toEqual([])
  })

  test('shows a delivery that waits for its first round', async () => {
    await tested.add([{ ...event('m_1', 'crm'), type: 'identify' }])
    const [listed, ...others] = await tested.list()
    expect(others).toEqual([])
    expect(listed).toEqual({
      destinationId: 'crm',
      id: listed!.id,
      sourceId: 'website',
      messageId: 'm_1',
      type: 'identify',
      eventName: null,
      userId: 'u_1',
      state: 'pending',
      lane: 'first',
      acceptedAtMs: nowMs,
      dueAtMs: nowMs,
      expiresAtMs: null,
      settledAtMs: null,
      reason: null,
      manualRetries: 0,
      attempts: 0,
      windowAttempts: 0,
      firstAttemptAtMs: null,
      holds: [],
    })
    expect((await tested.claimOne('crm')).id).toBe(listed!.id)
  })

  test('shows the name of an event, or null if it is missing or very long', async () => {
    const withBody = (messageId: string, body: object) => ({
      ...event(messageId),
      deliveries: [{ destinationId: 'crm', body: JSON.stringify({ version: 1, ...body }) }],
    })
    await tested.add([
      withBody('m_1', {
        type: 'track',
        userId: 'u"1',
        event: 'Order \u0000 "Paid"',
        properties: {},
      }),
      withBody('m_2', { type: 'page', anonymousId: 'a_1', name: 'Home', properties: {} }),
      withBody('m_3', { type: 'identify', userId: 'u_1', traits: { name: 'Ada' } }),
      withBody('m_4', { type: 'track', event: 'x'.repeat(30_000) }),
    ])
    const names = [null, null, 'Home', 'Order \u0000 "Paid"']
    for (const filter of [{}, { userId: 'u_1' }, { destinationId: 'crm' }]) {
      expect((await tested.list(filter)).map(({ eventName }) => eventName)).toEqual(names)
    }
  })

  test('shows leased deliveries as pending', async () => {
    const delivery = await tested.leaseOne()
    expect(await tested.list()).toMatchObject([
      { id: delivery.id, state: 'pending', dueAtMs: nowMs, settledAtMs: null },
    ])
  })

  test('shows the greatest ids first, whatever the due time', async () => {
    await tested.add([event('m_1', 'crm')], { atMs: nowMs + 5 })
    await tested.add([event('m_2', 'mail'), event('m_3', 'crm')])
    await tested.settle(delivered(await tested.claimOne('mail')))
    await tested.settle(retried(await tested.claimOne('crm'), nowMs + 9_000))
    await tested.add([event('m_4', 'ads')], { atMs: nowMs - 5 })
    const listed = await tested.list()
    expect(messageIds(listed)).toEqual(['m_4', 'm_3', 'm_2', 'm_1'])
    expect(listed.map(({ state }) => state)).toEqual(['pending', 'pending', 'delivered', 'pending'])
    expect(messageIds(await tested.list({ destinationId: 'crm' }))).toEqual(['m_3', 'm_1'])
  })
}

/**
 * Adds deliveries to crm, accepted one second apart: m_1 waits, m_2 is delivered, m_3 failed, m_4 expired and
 * m_5 is leased. To mail, m_1 waits. Returns the leases of the deliveries to crm.
 */
async function fill(tested: StoreUnderTest): Promise<readonly LeasedDelivery[]> {
  const types = ['track', 'identify', 'page', 'track', 'delete'] as const
  for (const [index, type] of types.entries()) {
    const destinationIds = index === 0 ? ['crm', 'mail'] : ['crm']
    const added = { ...event(`m_${index + 1}`, ...destinationIds), type }
    const userId = index === 2 ? null : `u_${(index % 2) + 1}`
    await tested.add([{ ...added, userId }], { atMs: nowMs + index * 1_000 })
  }
  const leased = await tested.claim('crm', { dueByMs: nowMs + 9_000 })
  const [first, second, third, fourth] = leased
  await tested.settle(
    retried(first!, nowMs + 60_000),
    delivered(second!),
    ended('failed', third!),
    ended('expired', fourth!),
  )
  return leased
}

function filters(tested: StoreUnderTest): void {
  test.each([
    ['a destination', { destinationId: 'mail' }, ['m_1']],
    ['an unknown destination', { destinationId: 'unknown' }, []],
    ['an event', { messageId: 'm_1' }, ['m_1', 'm_1']],
    ['a state', { states: ['pending'] }, ['m_5', 'm_1', 'm_1']],
    ['delivered', { states: ['delivered'] }, ['m_2']],
    ['several states', { states: ['failed', 'expired'] }, ['m_4', 'm_3']],
    ['no state', { states: [] }, []],
    ['a type', { types: ['track'] }, ['m_4', 'm_1', 'm_1']],
    ['several types', { types: ['delete', 'page'] }, ['m_5', 'm_3']],
    ['no type', { types: [] }, []],
    ['a user', { userId: 'u_2' }, ['m_4', 'm_2']],
    ['since a moment', { sinceMs: nowMs + 3_000 }, ['m_5', 'm_4']],
    ['until before a moment', { untilMs: nowMs + 1_000 }, ['m_1', 'm_1']],
    ['a period', { sinceMs: nowMs + 1_000, untilMs: nowMs + 2_001 }, ['m_3', 'm_2']],
    ['no condition', {}, ['m_5', 'm_4', 'm_3', 'm_2', 'm_1', 'm_1']],
    [
      'conditions that are undefined',
      {
        destinationId: undefined,
        userId: undefined,
        id: undefined,
        messageId: undefined,
        states: undefined,
        types: undefined,
        sinceMs: undefined,
        untilMs: undefined,
      },
      ['m_5', 'm_4', 'm_3', 'm_2', 'm_1', 'm_1'],
    ],
  ] as const)('finds deliveries by %s', async (_name, filter, expected) => {
    await fill(tested)
    expect(messageIds(await tested.list(filter))).toEqual(expected)
  })

  test('finds a delivery by id', async () => {
    const leased = await fill(tested)
    const { id } = leased[2]!
    expect(messageIds(await tested.list({ id, destinationId: 'crm' }))).toEqual(['m_3'])
    expect(await tested.list({ id, destinationId: 'mail' })).toEqual([])
    expect(await tested.list({ id: leased[4]!.id + 100 })).toEqual([])
  })

  test('finds deliveries that meet every condition', async () => {
    const leased = await fill(tested)
    const filter = {
      destinationId: 'crm',
      id: leased[3]!.id,
      messageId: 'm_4',
      states: ['expired', 'failed'],
      types: ['track', 'page'],
      userId: 'u_2',
      sinceMs: nowMs + 3_000,
      untilMs: nowMs + 3_001,
    } as const
    expect(messageIds(await tested.list(filter))).toEqual(['m_4'])
    const others = [
      { destinationId: 'mail' },
      { id: leased[2]!.id },
      { messageId: 'm_3' },
      { states: ['pending', 'delivered'] },
      { types: ['identify'] },
      { userId: 'u_1' },
      { sinceMs: nowMs + 3_001 },
      { untilMs: nowMs + 3_000 },
    ] as const
    for (const other of others) expect(await tested.list({ ...filter, ...other })).toEqual([])
  })
}

function pages(tested: StoreUnderTest): void {
  test('shows no more than the limit', async () => {
    await fill(tested)
    expect(messageIds(await tested.list({}, { limit: 2 }))).toEqual(['m_5', 'm_4'])
    expect(await tested.list({}, { limit: 0 })).toEqual([])
  })

  test('continues after the previous page, across destinations', async () => {
    await tested.add([event('m_1', 'crm', 'mail', 'ads'), event('m_2', 'mail')])
    await tested.settle(delivered(await tested.claimOne('crm')))
    await tested.add([event('m_3', 'ads', 'crm'), event('m_4', 'crm')])
    const paged = [...(await tested.list({}, { limit: 2 }))]
    for (const length of [4, 6, 7, 7]) {
      paged.push(...(await tested.list({}, { limit: 2, beforeId: paged.at(-1)!.id })))
      expect(paged).toHaveLength(length)
    }
    expect(paged).toEqual(await tested.list())
    const ids = paged.map(({ id }) => id)
    expect(ids).toEqual(ids.toSorted((a, b) => b - a))
  })

  test('continues with a filter', async () => {
    await fill(tested)
    const filter = { destinationId: 'crm', states: ['pending', 'failed'] } as const
    const [first] = await tested.list(filter, { limit: 1 })
    expect(first).toMatchObject({ messageId: 'm_5' })
    const rest = await tested.list(filter, { beforeId: first!.id })
    expect(messageIds(rest)).toEqual(['m_3', 'm_1'])
    expect(await tested.list(filter, { beforeId: rest[1]!.id })).toEqual([])
  })
}

function stories(tested: StoreUnderTest): void {
  test('has the fields of the list, the body and the requests', async () => {
    const leased = await fill(tested)
    const requests = leased.map((delivery) => requestOf(delivery))
    await tested.log(requests)
    for (const [index, { destinationId, id, body }] of leased.entries()) {
      const [listed] = await tested.list({ destinationId, id })
      const story = { ...listed, body, requests: [requests[index]] }
      expect(await tested.store.story({ destinationId, id })).toEqual(story)
    }
  })

  test('has no requests before the first round', async () => {
    expect((await tested.story(await tested.leaseOne())).requests).toEqual([])
  })

  test('is undefined for an unknown delivery', async () => {
    const { id } = await tested.leaseOne()
    await tested.add([event('m_2', 'mail')])
    expect(await tested.store.story({ destinationId: 'mail', id })).toBeUndefined()
    expect(await tested.store.story({ destinationId: 'unknown', id })).toBeUndefined()
    expect(await tested.store.story({ destinationId: 'crm', id: id + 100 })).toBeUndefined()
    expect(await tested.store.story({ destinationId: 'crm', id: 0 })).toBeUndefined()
  })
}
