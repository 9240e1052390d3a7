import { describe, expect, onTestFinished, test } from 'vitest'
import { MemoryStore, type MemoryStoreOptions } from '../../../src/store/memory/memory-store.ts'
import { deliveryStoreSuite } from '../../conformance/delivery-store.ts'
import {
  delivered,
  ended,
  event,
  events,
  messageIds,
  nowMs,
  requestOf,
  retried,
  returned,
  StoreUnderTest,
} from '../../conformance/store-under-test.ts'

// The port lets nobody wait.
deliveryStoreSuite('MemoryStore', () => Promise.resolve(new MemoryStore({ untriedMax: Infinity })))

async function opened(options: MemoryStoreOptions): Promise<StoreUnderTest> {
  const tested = new StoreUnderTest(() => Promise.resolve(new MemoryStore(options)))
  await tested.begin()
  onTestFinished(() => tested.end())
  return tested
}

/** An addition that may have to wait; its batches tell when they were taken. */
function adding(tested: StoreUnderTest, ...ids: readonly string[]): Waiting {
  const waiting: Waiting = { taken: [], all: [] }
  waiting.all = ids.map(async (messageId) => {
    await tested.add([event(messageId, 'crm')])
    waiting.taken.push(messageId)
  })
  return waiting
}

interface Waiting {
  readonly taken: string[]
  all: readonly Promise<void>[]
}

async function deliverOne(tested: StoreUnderTest): Promise<void> {
  const [delivery] = await tested.claim('crm', { deliveriesMax: 1 })
  await tested.settle(delivered(delivery!))
}

function withBody(messageId: string, body: string): ReturnType<typeof event> {
  return { ...event(messageId), deliveries: [{ destinationId: 'crm', body }] }
}

describe('a memory store that is full', () => {
  test('lets callers wait until deliveries are settled, and takes them in turn', async () => {
    const tested = await opened({ pendingMax: 2 })
    await tested.add(events(2, 'crm'))
    const waiting = adding(tested, 'm_3', 'm_4')
    // A leased delivery takes up room as well.
    const [first] = await tested.claim('crm', { deliveriesMax: 1 })
    expect(waiting.taken).toEqual([])
    await tested.settle(delivered(first!))
    await waiting.all[0]
    expect(waiting.taken).toEqual(['m_3'])
    expect(await tested.store.ledger()).toMatchObject({ pending: 2 })
    await deliverOne(tested)
    await waiting.all[1]
    expect(waiting.taken).toEqual(['m_3', 'm_4'])
  })

  test('counts the bytes of bodies as well, those of leased deliveries included', async () => {
    const tested = await opened({ pendingBytesMax: 8 })
    await tested.add([withBody('m_1', '"éé"'), withBody('m_2', '{}')])
    const waiting = adding(tested, 'm_3')
    const [first] = await tested.claim('crm', { deliveriesMax: 1 })
    expect(waiting.taken).toEqual([])
    await tested.settle(delivered(first!))
    await waiting.all[0]
    expect(await tested.store.ledger()).toMatchObject({ delivered: 1, pending: 2 })
  })

  test('counts what is retried by hand, and no longer what was given up', async () => {
    const tested = await opened({ pendingMax: 1, pendingBytesMax: 100 })
    await tested.failOne('m_1')
    await tested.retry()
    const waiting = adding(tested, 'm_2')
    await tested.store.ledger()
    expect(waiting.taken).toEqual([])
    await tested.purge({ abandonedBeforeMs: nowMs + 1 })
    await waiting.all[0]
    expect(await tested.store.ledger()).toMatchObject({ expired: 1, pending: 1 })
  })

  test('lets callers wait while enough are not tried yet and some are on their way', async () => {
    const tested = await opened({ untriedMax: 2 })
    await tested.add(events(3, 'crm'))
    const [first, second, third] = await tested.claim('crm')
    const waiting = adding(tested, 'm_4', 'm_5')
    await tested.settle(delivered(first!))
    expect(waiting.taken).toEqual([])
    await tested.settle(retried(second!))
    await waiting.all[0]
    expect(waiting.taken).toEqual(['m_4'])
    await tested.settle(delivered(third!))
    await waiting.all[1]
    expect(await tested.store.ledger()).toMatchObject({ delivered: 2, pending: 3 })
  })

  test('lets everybody in while nothing is on its way, as to an endpoint that is down', async () => {
    const tested = await opened({ untriedMax: 2 })
    await tested.add(events(3, 'crm'))
    await tested.add([event('m_4', 'crm')])
    const [first] = await tested.claim('crm', { deliveriesMax: 1 })
    const waiting = adding(tested, 'm_5', 'm_6')
    await tested.store.ledger()
    expect(waiting.taken).toEqual([])
    await tested.settle(returned(first!))
    await Promise.all(waiting.all)
    expect(await tested.store.ledger()).toMatchObject({ pending: 6 })
  })

  test('does not count as untried what is retried by hand', async () => {
    const tested = await opened({ untriedMax: 1 })
    await tested.failOne('m_1')
    await tested.retry()
    const again = await tested.claimOne('crm', { lane: 'manual' })
    const waiting = adding(tested, 'm_2', 'm_3')
    await waiting.all[0]
    expect(waiting.taken).toEqual(['m_2'])
    await tested.settle(delivered(again))
    await waiting.all[1]
    expect(await tested.store.ledger()).toMatchObject({ delivered: 1, pending: 2 })
  })

  test('counts a delivery as tried once, however often it is tried', async () => {
    const tested = await opened({ untriedMax: 1 })
    await tested.settle(retried(await tested.leaseOne('m_1')))
    await tested.settle(retried(await tested.claimOne('crm', { lane: 'retry' })))
    const second = await tested.leaseOne('m_2')
    const waiting = adding(tested, 'm_3')
    await tested.store.ledger()
    expect(waiting.taken).toEqual([])
    await tested.settle(delivered(second))
    await Promise.all(waiting.all)
  })

  test('takes a batch whole once there is room for one', async () => {
    const tested = await opened({ pendingMax: 1 })
    await tested.add(events(3, 'crm'))
    expect(await tested.store.ledger()).toMatchObject({ pending: 3 })
  })

  test.each([{ pendingMax: 1 }, { pendingBytesMax: 1 }])(
    'refuses those who wait for %j when it closes, and who comes later',
    async (options) => {
      const store = new MemoryStore(options)
      const batch = { nowMs, seenSinceMs: 0, handOver: [] }
      await store.add({ ...batch, events: [event('m_1', 'crm')] })
      const waiting = store.add({ ...batch, events: [event('m_2', 'crm')] })
      await store.close()
      const late = store.add({ ...batch, events: [event('m_3', 'crm')] })
      for (const refused of [waiting, late]) {
        await expect(refused).rejects.toMatchObject({ code: 'store_closed' })
      }
    },
  )
})

describe('by default a memory store', () => {
  test('holds 64 MB of bodies', async () => {
    const tested = await opened({})
    const body = JSON.stringify('x'.repeat(1024 * 1024))
    await tested.add(Array.from({ length: 64 }, (_, index) => withBody(`b_${index}`, body)))
    const waiting = adding(tested, 'm_1')
    await tested.store.ledger()
    expect(waiting.taken).toEqual([])
    await deliverOne(tested)
    await waiting.all[0]
    expect(waiting.taken).toEqual(['m_1'])
  })

  test('holds a thousand deliveries that are not tried yet while some are on their way', async () => {
    const tested = await opened({})
    await tested.add(events(1_000, 'crm'))
    const [first] = await tested.claim('crm', { deliveriesMax: 1 })
    const waiting = adding(tested, 'one too many')
    await tested.store.ledger()
    expect(waiting.taken).toEqual([])
    await tested.settle(delivered(first!))
    await waiting.all[0]
  })

  test('holds ten thousand deliveries and knows a hundred thousand messageIds', async () => {
    const tested = await opened({})
    const batch = events(10_000, 'crm')
    await tested.add(batch.slice(1))
    await tested.add(batch.slice(0, 1))
    const waiting = adding(tested, 'one too many')
    await tested.store.ledger()
    expect(waiting.taken).toEqual([])
    await deliverOne(tested)
    await waiting.all[0]

    for (let count = 0; count < 2; count++) await deliverOne(tested)
    await tested.add(Array.from({ length: 89_999 }, (_, index) => event(`f_${index}`)))
    expect(await tested.outcomes([batch[1]!])).toEqual(['duplicate'])
  })

  test('shows the last thousand deliveries that ended', async () => {
    const tested = await opened({})
    await tested.add(events(1_001, 'crm'))
    for (const delivery of await tested.claim('crm', { deliveriesMax: 2_000 })) {
      await tested.settle(delivered(delivery))
    }
    const listed = await tested.list({}, { limit: 2_000 })
    expect(listed).toHaveLength(1_000)
    expect(listed.at(-1)).toMatchObject({ messageId: 'm_2' })
  })
})

describe('the log of a memory store', () => {
  test('forgets first what ended first, and tells so in its audit', async () => {
    const tested = await opened({ settledMax: 2 })
    await tested.add(events(5, 'crm'))
    const [first, second, third, fourth, fifth] = await tested.claim('crm')
    await tested.log([requestOf(fifth!)], delivered(fifth!))
    await tested.settle(ended('failed', first!), ended('expired', fourth!))
    expect(messageIds(await tested.list())).toEqual(['m_4', 'm_3', 'm_2', 'm_1'])
    expect(await tested.store.story(fifth!)).toBeUndefined()
    await tested.settle(delivered(third!))
    expect(messageIds(await tested.list())).toEqual(['m_4', 'm_3', 'm_2'])
    expect(await tested.store.audit()).toMatchObject({
      counted: { delivered: 1, failed: 0, expired: 1, pending: 1 },
      purged: { delivered: 1, failed: 1, expired: 0 },
    })
    await tested.log([requestOf(second!), requestOf(fifth!)], delivered(second!))
    expect((await tested.story(second!)).requests).toHaveLength(1)
  })

  test('does not count among them what is retried by hand', async () => {
    const tested = await opened({ settledMax: 2 })
    await tested.failOne('m_1')
    await tested.retry()
    const again = await tested.claimOne('crm', { lane: 'manual' })
    await tested.settle(delivered(await tested.leaseOne('m_2')))
    await tested.settle(delivered(await tested.leaseOne('m_3')))
    expect(messageIds(await tested.list())).toEqual(['m_3', 'm_2', 'm_1'])
    await tested.settle(delivered(again))
    expect(messageIds(await tested.list())).toEqual(['m_3', 'm_1'])
  })
})
