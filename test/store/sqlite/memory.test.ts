import { describe, expect, onTestFinished, test } from 'vitest'
import type { MemoryBoundsOptions } from '../../../src/store/sqlite/memory-bounds.ts'
import { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts'
import { audienceStoreSuite } from '../../conformance/audience-store.ts'
import { deliveryStoreSuite } from '../../conformance/delivery-store.ts'
import { regulationStoreSuite } from '../../conformance/regulation-store.ts'
import { eventAbout } from '../../conformance/regulation-store-under-test.ts'
import {
  delivered,
  ended,
  event,
  events,
  nowMs,
  requestOf,
  StoreUnderTest,
} from '../../conformance/store-under-test.ts'

const inMemory = (): Promise<SqliteStore> => SqliteStore.openInMemory()

deliveryStoreSuite('memory:', inMemory)
audienceStoreSuite('memory:', inMemory)
regulationStoreSuite('memory:', inMemory)

async function opened(bounds: MemoryBoundsOptions = {}): Promise<StoreUnderTest> {
  const tested = new StoreUnderTest(() => SqliteStore.openInMemory(bounds))
  await tested.begin()
  onTestFinished(() => tested.end())
  return tested
}

/** Starts adds that may have to wait. `added` lists those that are done. */
function startAdds(tested: StoreUnderTest, ...ids: readonly string[]): StartedAdds {
  const added: string[] = []
  const all = ids.map(async (messageId) => {
    await tested.add([event(messageId, 'crm')])
    added.push(messageId)
  })
  return { added, all }
}

interface StartedAdds {
  readonly added: readonly string[]
  readonly all: readonly Promise<void>[]
}

async function deliverOne(tested: StoreUnderTest): Promise<void> {
  const [delivery] = await tested.claim('crm', { deliveriesMax: 1 })
  await tested.settle(delivered(delivery!))
}

const megabyte = JSON.stringify('x'.repeat(1024 * 1024))

function large(messageId: string): ReturnType<typeof event> {
  return { ...event(messageId), deliveries: [{ destinationId: 'crm', body: megabyte }] }
}

describe('a full in-memory store', () => {
  test('makes callers wait until deliveries are settled, first come, first served', async () => {
    const tested = await opened({ pendingMax: 2 })
    await tested.add(events(2, 'crm'))
    const waiting = startAdds(tested, 'm_3', 'm_4')
    // A leased delivery needs room too.
    const [first] = await tested.claim('crm', { deliveriesMax: 1 })
    expect(waiting.added).toEqual([])
    await tested.settle(delivered(first!))
    const newcomer = startAdds(tested, 'm_5')
    await waiting.all[0]
    expect(waiting.added).toEqual(['m_3'])
    expect(await tested.store.ledger()).toMatchObject({ pending: 2 })
    await deliverOne(tested)
    await waiting.all[1]
    expect(newcomer.added).toEqual([])
    await deliverOne(tested)
    await newcomer.all[0]
  })

  test('counts deliveries that are being added, and never splits a batch', async () => {
    const tested = await opened({ pendingMax: 3 })
    const batches = [events(2, 'crm'), [event('m_3', 'crm'), event('m_4', 'crm')]]
    await Promise.all(batches.map((batch) => tested.add(batch)))
    const third = startAdds(tested, 'm_5')
    expect(await tested.store.ledger()).toMatchObject({ pending: 4 })
    expect(third.added).toEqual([])
    await deliverOne(tested)
    await deliverOne(tested)
    await third.all[0]
  })

  test('counts the bytes of all rows while anything is pending', async () => {
    const tested = await opened({ bytesMax: 4 * 1024 * 1024 })
    await tested.add(['b_1', 'b_2', 'b_3', 'b_4'].map(large))
    const waiting = startAdds(tested, 'm_1')
    await tested.store.ledger()
    expect(waiting.added).toEqual([])
    for (let count = 0; count < 4; count++) await deliverOne(tested)
    // Nothing is pending, so the bytes of the log do not make an add wait.
    await waiting.all[0]
  })

  test('counts manual retries, but not abandoned deliveries', async () => {
    const tested = await opened({ pendingMax: 1 })
    await tested.failOne('m_1')
    await tested.retry()
    const waiting = startAdds(tested, 'm_2')
    await tested.store.ledger()
    expect(waiting.added).toEqual([])
    await tested.purge({ abandonedBeforeMs: nowMs + 1 })
    await waiting.all[0]
    expect(await tested.store.ledger()).toMatchObject({ expired: 1, pending: 1 })
  })

  test('has room again once an erasure ends deliveries', async () => {
    const store = await SqliteStore.openInMemory({ pendingMax: 1 })
    onTestFinished(() => store.close())
    const batch = { nowMs, seenSinceMs: 0, handOver: [] }
    await store.add({ ...batch, events: [eventAbout('u_1')] })
    const waiting = store.add({ ...batch, events: [event('m_2', 'crm')] })
    const regulation = {
      id: 'r',
      type: 'DELETE_INTERNAL',
      userIds: ['u_1'],
      sourceIds: null,
    } as const
    await store.regulations.create({ regulation, notifications: [], nowMs })
    expect(await store.ledger()).toMatchObject({ pending: 1 })
    await store.regulations.erase({ id: 'r', nowMs, rowsMax: 1_000 })
    await waiting
    expect(await store.ledger()).toMatchObject({ failed: 1, pending: 1 })
  })

  test('rejects waiting and later adds when it closes', async () => {
    const store = await SqliteStore.openInMemory({ pendingMax: 1 })
    const batch = { nowMs, seenSinceMs: 0, handOver: [] }
    await store.add({ ...batch, events: [event('m_1', 'crm')] })
    const waiting = store.add({ ...batch, events: [event('m_2', 'crm')] })
    const waitingRefused = expect(waiting).rejects.toMatchObject({ code: 'store_closed' })
    await store.close()
    await waitingRefused
    const late = store.add({ ...batch, events: [event('m_3', 'crm')] })
    await expect(late).rejects.toMatchObject({ code: 'store_closed' })
  })
})

describe('an in-memory store, by default,', () => {
  test('holds ten thousand pending deliveries', async () => {
    const tested = await opened()
    await tested.add(events(9_999, 'crm'))
    await tested.add([event('the last', 'crm')])
    const waiting = startAdds(tested, 'one too many')
    await tested.store.ledger()
    expect(waiting.added).toEqual([])
    await deliverOne(tested)
    await waiting.all[0]
  })

  test('remembers a hundred thousand messageIds, and hardly more', async () => {
    const tested = await opened()
    const idsMax = 100_000
    const batch = (from: number, count: number) =>
      Array.from({ length: count }, (_, index) => event(`m_${from + index}`))
    await tested.add(batch(0, 2_000), { atMs: nowMs })
    await tested.add(batch(2_000, idsMax - 1_000), { atMs: nowMs + 1 })
    const later = { atMs: nowMs + 2 }
    expect(await tested.outcomes(batch(2_000, 1), later)).toEqual(['duplicate'])
    expect(await tested.outcomes(batch(idsMax + 999, 1), later)).toEqual(['duplicate'])
    await tested.add(batch(idsMax + 1_000, 1), later)
    const outcomes = await tested.outcomes(batch(0, 2_000), later)
    expect(outcomes.filter((outcome) => outcome === 'filtered')).toHaveLength(1_001)
  })

  test('shows the last thousand ended deliveries with their bodies', async () => {
    const tested = await opened()
    await tested.add(events(1_002, 'crm'))
    const all = await tested.claim('crm', { deliveriesMax: 2_000 })
    const [first, ...others] = all
    await tested.log([requestOf(first!)], delivered(first!))
    await tested.log(
      others.map((other) => requestOf(other)),
      ...others.slice(1).map(delivered),
    )
    await tested.settleAt(nowMs + 1, delivered(others[0]!))
    const listed = await tested.list({}, { limit: 2_000 })
    expect(listed).toHaveLength(1_000)
    expect(await tested.store.story(first!)).toBeUndefined()
    expect((await tested.story(others[0]!)).requests).toHaveLength(1)
  })
})

describe('the log of an in-memory store', () => {
  test('deletes delivered deliveries first, and counts them in the audit', async () => {
    const tested = await opened({ endedMax: 2 })
    await tested.add(events(5, 'crm'))
    const [first, second, third, fourth, fifth] = await tested.claim('crm')
    await tested.settleAt(nowMs, ended('failed', first!), delivered(second!))
    await tested.settleAt(nowMs + 1, delivered(third!))
    expect(await tested.store.story(second!)).toBeUndefined()
    await tested.settleAt(nowMs + 2, ended('expired', fourth!))
    expect(await tested.store.story(third!)).toBeUndefined()
    await tested.settleAt(nowMs + 3, ended('expired', fifth!))
    expect(await tested.list({ states: ['failed', 'expired'] })).toHaveLength(2)
    expect(await tested.store.audit()).toMatchObject({
      counted: { delivered: 0, pending: 0 },
      purged: { delivered: 2 },
    })
  })

  test('keeps nothing if no reader needs it', async () => {
    const tested = await opened({ endedMax: 0 })
    await tested.add(events(3, 'crm', 'mail'))
    const claimed = [...(await tested.claim('crm')), ...(await tested.claim('mail'))]
    await tested.log(
      claimed.map((each) => requestOf(each)),
      ...claimed.map(delivered),
    )
    expect(await tested.list()).toEqual([])
    expect(await tested.store.ledger()).toMatchObject({ deliveries: 6, delivered: 6, pending: 0 })
  })
})
