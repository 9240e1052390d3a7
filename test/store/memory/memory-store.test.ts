import { describe, expect, onTestFinished, test } from 'vitest'
import type { NewEvent } from '../../../src/delivery/index.ts'
import { MemoryStore, type MemoryStoreOptions } from '../../../src/store/memory/memory-store.ts'
import { deliveryStoreSuite } from '../../conformance/delivery-store.ts'

deliveryStoreSuite('MemoryStore', () => Promise.resolve(new MemoryStore()))

const nowMs = Date.UTC(2026, 0, 2)
const destinationIds = ['crm']

function open(options: MemoryStoreOptions): MemoryStore {
  const store = new MemoryStore(options)
  onTestFinished(() => store.close())
  return store
}

function event(messageId: string, body = '{}'): NewEvent {
  const deliveries = [{ destinationId: 'crm', body }]
  return { sourceId: 'website', messageId, type: 'track', deliveries }
}

async function deliverOne(store: MemoryStore): Promise<void> {
  const shares = [{ destinationId: 'crm', deliveriesMax: 1 }]
  const [delivery] = await store.claim({ nowMs, shares })
  await store.settle({
    nowMs,
    settlements: [{ kind: 'delivered', delivery: delivery!, requests: [] }],
  })
}

describe('a memory store that is full', () => {
  test('counts the bytes of bodies as well, those of leased deliveries included', async () => {
    const store = open({ pendingBytesMax: 8 })
    await store.add({ nowMs, events: [event('m_1', '"éé"'), event('m_2', '{}')] })
    let taken = false
    const addition = store.add({ nowMs, events: [event('m_3')] }).then(() => (taken = true))
    const shares = [{ destinationId: 'crm', deliveriesMax: 1 }]
    const [first] = await store.claim({ nowMs, shares })
    expect(taken).toBe(false)
    const requests: readonly [] = []
    await store.settle({ nowMs, settlements: [{ kind: 'delivered', delivery: first!, requests }] })
    await addition
    await deliverOne(store)
    await deliverOne(store)
    expect(await store.ledger()).toMatchObject({ delivered: 3, pending: 0 })
  })

  test('holds 64 MB of bodies by default', async () => {
    const store = open({})
    const body = JSON.stringify('x'.repeat(1024 * 1024))
    const events = Array.from({ length: 64 }, (_, index) => event(`m_${index}`, body))
    await store.add({ nowMs, events })
    let taken = false
    const addition = store.add({ nowMs, events: [event('m_64')] }).then(() => (taken = true))
    await store.claim({ nowMs, shares: [] })
    expect(taken).toBe(false)
    await deliverOne(store)
    await addition
    expect(taken).toBe(true)
  })

  test('lets callers wait until deliveries are settled, and takes them in turn', async () => {
    const store = open({ pendingMax: 2 })
    await store.add({ nowMs, events: [event('m_1'), event('m_2')] })
    const taken: string[] = []
    const additions = ['m_3', 'm_4'].map(async (messageId) => {
      await store.add({ nowMs, events: [event(messageId)] })
      taken.push(messageId)
    })
    // A leased delivery takes up room as well.
    await store.claim({ nowMs, shares: [{ destinationId: 'crm', deliveriesMax: 1 }] })
    expect(taken).toEqual([])
    await deliverOne(store)
    await additions[0]
    expect(taken).toEqual(['m_3'])
    expect(await store.pending({ destinationIds })).toBe(2)
    await deliverOne(store)
    await additions[1]
    expect(taken).toEqual(['m_3', 'm_4'])
  })

  test('takes a batch whole once there is room for one', async () => {
    const store = open({ pendingMax: 1 })
    await store.add({ nowMs, events: [event('m_1'), event('m_2'), event('m_3')] })
    expect(await store.pending({ destinationIds })).toBe(3)
  })

  test('refuses those who wait when it closes', async () => {
    const store = open({ pendingMax: 1 })
    await store.add({ nowMs, events: [event('m_1')] })
    const waiting = store.add({ nowMs, events: [event('m_2')] })
    await store.close()
    await expect(waiting).rejects.toMatchObject({ code: 'store_closed' })
  })
})

test('a memory store forgets messageIds only when enough newer ones came', async () => {
  const messageIdsMax = 3
  const store = open({ messageIdsMax })
  const add = async (messageId: string): Promise<string | undefined> =>
    (await store.add({ nowMs, events: [event(messageId)] }))[0]
  await add('m_0')
  for (let count = 1; count <= 20; count++) {
    await add(`m_${count}`)
    for (let age = 0; age < messageIdsMax && age <= count; age++) {
      expect(await add(`m_${count - age}`)).toBe('duplicate')
    }
  }
  // Twice as many are kept at the most.
  expect(await add(`m_${20 - 2 * messageIdsMax}`)).toBe('routed')
})

test('a memory store holds ten thousand deliveries and knows a hundred thousand messageIds', async () => {
  const store = open({})
  const events = Array.from({ length: 10_000 }, (_, index) => event(`m_${index}`))
  await store.add({ nowMs, events: events.slice(1) })
  await store.add({ nowMs, events: events.slice(0, 1) })
  let taken = false
  const waiting = store.add({ nowMs, events: [event('one too many')] }).then(() => {
    taken = true
  })
  await store.ledger()
  expect(taken).toBe(false)
  await deliverOne(store)
  await waiting

  const filtered = Array.from({ length: 89_999 }, (_, index) => ({
    ...event(`f_${index}`),
    deliveries: [],
  }))
  for (let count = 0; count < 2; count++) await deliverOne(store)
  await store.add({ nowMs, events: filtered })
  expect(await store.add({ nowMs, events: events.slice(1, 2) })).toEqual(['duplicate'])
})
