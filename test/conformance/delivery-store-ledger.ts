import { describe, expect, test } from 'vitest'
import type { LostRequest } from '../../src/delivery/index.ts'
import { emptyLedger } from '../../src/model/index.ts'
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
  type StoreUnderTest,
} from './store-under-test.ts'

/** Tests of `ledger`, `destinationCounts`, `countLost` and `audit`, and of all methods with large batches. */
export function ledgerSuite(tested: StoreUnderTest): void {
  describe('ledger', () => ledger(tested))
  describe('destinationCounts', () => destinationCounts(tested))
  describe('countLost', () => countLost(tested))
  describe('audit', () => audit(tested))
  describe('a large batch', () => largeBatches(tested))
}

function destinationCounts(tested: StoreUnderTest): void {
  test('counts the deliveries of each destination, the leased ones as pending', async () => {
    expect(await tested.store.destinationCounts()).toEqual([])
    await tested.add([...events(3, 'crm'), event('m_4', 'mail', 'wa\0rehouse')])
    const [first] = await tested.claim('mail')
    const [second, third] = await tested.claim('crm')
    await tested.settle(delivered(first!), ended('failed', second!), ended('expired', third!))
    const none = { delivered: 0, failed: 0, expired: 0, pending: 0 }
    expect(await tested.store.destinationCounts()).toEqual([
      { ...none, destinationId: 'crm', deliveries: 3, failed: 1, expired: 1, pending: 1 },
      { ...none, destinationId: 'mail', deliveries: 1, delivered: 1 },
      { ...none, destinationId: 'wa\0rehouse', deliveries: 1, pending: 1 },
    ])
  })
}

function countLost(tested: StoreUnderTest): void {
  test('counts failed and expired deliveries since a time, up to a limit, without discarded ones', async () => {
    const count = (request: Partial<LostRequest> = {}): Promise<number> =>
      tested.store.countLost({ destinationId: 'crm', sinceMs: nowMs, limit: 10, ...request })
    expect(await count()).toBe(0)
    await tested.add([...events(5, 'crm'), event('m_6', 'mail')])
    const [first, second, third, fourth] = await tested.claim('crm', { deliveriesMax: 4 })
    await tested.settle(delivered(first!), ended('failed', second!), ended('expired', third!))
    await tested.settleAt(nowMs - 1, ended('failed', fourth!))
    await tested.discard()
    expect(await count()).toBe(2)
    expect(await count({ sinceMs: 0 })).toBe(3)
    expect(await count({ sinceMs: 0, limit: 1 })).toBe(1)
    expect(await count({ destinationId: 'mail' })).toBe(0)
    await tested.retry({ states: ['expired'] })
    expect(await count()).toBe(1)
  })
}

function ledger(tested: StoreUnderTest): void {
  test('counts every event and every delivery', async () => {
    await tested.add([event('m_1', 'crm', 'mail'), event('m_2'), event('m_2'), event('m_3', 'crm')])
    expect(await tested.store.ledger()).toEqual({
      ...emptyLedger,
      accepted: 4,
      routed: 2,
      filtered: 1,
      duplicate: 1,
      deliveries: 3,
      pending: 3,
    })
  })

  test('counts leased, postponed and returned deliveries as pending', async () => {
    await tested.add(events(4, 'crm'))
    const [first, second] = await tested.claim('crm', { deliveriesMax: 3 })
    await tested.settle(retried(first!), returned(second!))
    expect(await tested.store.ledger()).toMatchObject({ deliveries: 4, pending: 4 })
  })

  test('is not changed by checkWritable', async () => {
    await tested.add(events(2, 'crm'))
    const [before, listed] = [await tested.store.audit(), await tested.list()]
    await tested.store.checkWritable()
    expect(await tested.store.audit()).toEqual(before)
    expect(await tested.list()).toEqual(listed)
    expect(messageIds(await tested.claim('crm'))).toEqual(['m_1', 'm_2'])
  })

  test('for one destination counts only its deliveries, but every event', async () => {
    await tested.add([...events(4, 'crm', 'mail'), event('m_5'), event('m_6', 'mail')])
    const [first, second, third] = await tested.claim('crm')
    await tested.settle(delivered(first!), ended('failed', second!), ended('expired', third!))
    const all = await tested.store.ledger()
    expect(all).toMatchObject({ accepted: 6, routed: 5, deliveries: 9, pending: 6 })
    const of = (destinationId: string): Promise<object> => tested.store.ledger({ destinationId })
    const crm = { deliveries: 4, delivered: 1, failed: 1, expired: 1, pending: 1 }
    expect(await of('crm')).toEqual({ ...all, ...crm })
    const none = { delivered: 0, failed: 0, expired: 0 }
    expect(await of('mail')).toEqual({ ...all, ...none, deliveries: 5, pending: 5 })
    expect(await of('unknown')).toEqual({ ...all, ...none, deliveries: 0, pending: 0 })
  })

  test('for one destination includes manual retries, expiries and purges', async () => {
    await tested.failOne('m_1')
    await tested.failOne('m_2')
    await tested.add([event('m_3', 'crm', 'mail')])
    const laterMs = nowMs + 1
    await tested.retry({ messageId: 'm_1' })
    await tested.purge({ abandonedBeforeMs: laterMs, failedBeforeMs: laterMs })
    await tested.purge({ failedBeforeMs: laterMs })
    const of = (destinationId: string): Promise<object> => tested.store.ledger({ destinationId })
    expect(await of('crm')).toMatchObject({ deliveries: 3, failed: 1, expired: 2, pending: 0 })
    expect(await of('mail')).toMatchObject({ deliveries: 1, failed: 0, expired: 1, pending: 0 })
  })

  test('is a snapshot that later changes do not affect', async () => {
    const before = await tested.store.ledger()
    await tested.add([event('m_1', 'crm')])
    expect(before).toEqual(emptyLedger)
  })
}

function audit(tested: StoreUnderTest): void {
  test('has only zeros for an empty store', async () => {
    const ends = { delivered: 0, failed: 0, expired: 0 }
    expect(await tested.store.audit()).toEqual({
      ledger: emptyLedger,
      counted: { ...ends, pending: 0 },
      purged: ends,
      withoutBody: 0,
    })
  })

  test('counts the rows beside the ledger', async () => {
    await tested.add([...events(5, 'crm'), event('m_6', 'mail'), event('m_7')])
    const [first, second, third, fourth] = await tested.claim('crm')
    await tested.settle(
      delivered(first!),
      ended('failed', second!),
      ended('expired', third!),
      retried(fourth!),
    )
    expect(await tested.store.audit()).toEqual({
      ledger: await tested.store.ledger(),
      counted: { delivered: 1, failed: 1, expired: 1, pending: 3 },
      purged: { delivered: 0, failed: 0, expired: 0 },
      withoutBody: 0,
    })
  })

  test('balances during concurrent operations', async () => {
    await tested.add(events(40, 'crm'))
    const leased = await tested.claim('crm')
    const steps = leased.flatMap((delivery, index) => [
      tested.settle(index % 2 === 0 ? delivered(delivery) : ended('failed', delivery)),
      tested.add([event(`n_${index}`, 'crm', 'mail')]),
      tested.retry({}, { limit: 3 }),
      tested.purge({ failedBeforeMs: nowMs + 1, rowsMax: 1 }),
      tested.expectBalance(),
    ])
    await Promise.all(steps)
    expect(await tested.store.ledger()).toMatchObject({ deliveries: 120, delivered: 20 })
  })
}

function largeBatches(tested: StoreUnderTest): void {
  test('of 2,500 events can be added, leased, settled and logged', async () => {
    const batch = events(2_500, 'crm', 'mail')
    const handOver = [{ destinationId: 'crm', deliveriesMax: 1_000 }]
    const { outcomes, leased } = await tested.add(batch, { handOver })
    expect(outcomes).toEqual(batch.map(() => 'routed'))
    expect(leased).toHaveLength(1_000)
    const rest = await tested.claim('crm', { deliveriesMax: 2_500 })
    const all = [...leased, ...rest]
    expect(messageIds(all)).toEqual(messageIds(batch))
    await tested.log(
      all.map((delivery) => requestOf(delivery)),
      ...all.map((delivery) => retried(delivery)),
    )
    expect(await tested.retry({ destinationId: 'crm' }, { limit: 2_400 })).toBe(2_400)
    expect(await tested.claim('crm', { lane: 'manual', deliveriesMax: 2_500 })).toHaveLength(2_400)
    expect(await tested.claim('crm', { lane: 'retry', deliveriesMax: 2_500 })).toHaveLength(100)
    expect(await tested.list({ destinationId: 'crm' }, { limit: 2_500 })).toHaveLength(2_500)
    expect((await tested.story(all.at(-1)!)).requests).toHaveLength(1)
    expect(await tested.outcomes(batch)).toEqual(batch.map(() => 'duplicate'))
    expect(await tested.store.ledger()).toMatchObject({ accepted: 5_000, pending: 5_000 })
  })

  test('of 2,500 deliveries can be settled and purged', async () => {
    await tested.add(events(2_500, 'crm'))
    const leased = await tested.claim('crm', { deliveriesMax: 2_500 })
    await tested.settle(...leased.map((delivery) => delivered(delivery)))
    await tested.purge({ deliveredBeforeMs: nowMs + 1, rowsMax: 10_000 })
    expect(await tested.store.audit()).toMatchObject({
      ledger: { delivered: 2_500 },
      counted: { delivered: 0 },
      purged: { delivered: 2_500 },
    })
  })
}
