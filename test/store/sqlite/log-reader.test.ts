import { expect, onTestFinished, test } from 'vitest'
import type { DeliveryFilter, NewEvent } from '../../../src/delivery/index.ts'
import { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts'
import { event, nowMs } from '../../conformance/store-under-test.ts'
import { add, newPath } from './store-calls.ts'

/** Enough for several buckets of the indexes, and for look-ups of several turns. */
const deliveries = 20_000

async function openFilledStore(): Promise<SqliteStore> {
  const store = await SqliteStore.open(await newPath())
  onTestFinished(() => store.close())
  const events = Array.from({ length: deliveries }, (_, index) => numbered(index + 1))
  await store.add({ nowMs, seenSinceMs: 0, events, handOver: [] })
  return store
}

/** Makes an event. Every seventh is about one user, and every second goes to `crm`. */
function numbered(number: number): NewEvent {
  const added = event(`m_${number}`, number % 2 === 0 ? 'crm' : 'ads')
  return { ...added, userId: number % 7 === 0 ? 'u_seventh' : null }
}

/** Returns the ids of all deliveries that match a filter, read in pages. */
async function listAll(store: SqliteStore, filter: DeliveryFilter): Promise<readonly number[]> {
  const listed: number[] = []
  for (let isLast = false; !isLast;) {
    const page = await store.list({ filter, limit: 1_500, beforeId: listed.at(-1) })
    listed.push(...page.map(({ id }) => id))
    isLast = page.length < 1_500
  }
  return listed
}

test('a long log is listed in pages, with the greatest id first', async () => {
  const store = await openFilledStore()
  const ids = Array.from({ length: deliveries }, (_, index) => deliveries - index)
  const crm = { destinationId: 'crm' }
  const user = { userId: 'u_seventh' }
  const expected: readonly (readonly [DeliveryFilter, readonly number[]])[] = [
    [{}, ids],
    [crm, ids.filter((id) => id % 2 === 0)],
    [user, ids.filter((id) => id % 7 === 0)],
    [{ ...user, ...crm }, ids.filter((id) => id % 14 === 0)],
    [{ messageId: 'm_1' }, [1]],
    [{ messageId: `m_${deliveries}`, states: ['pending'] }, [deliveries]],
    [{ messageId: 'm_0' }, []],
    [{ states: ['failed'] }, []],
  ]
  for (const [filter, listed] of expected) expect(await listAll(store, filter)).toEqual(listed)
})

test('an add gets its turn during a long look-up', async () => {
  const store = await openFilledStore()
  const lookUps: readonly (() => Promise<unknown>)[] = [
    () => store.audit(),
    () => store.list({ filter: { types: ['page'] }, limit: 1 }),
  ]
  for (const [number, lookUp] of lookUps.entries()) {
    const answered: string[] = []
    const lookedUp = lookUp().then(() => answered.push('the look-up'))
    await add(store, `m_new_${number}`).then(() => answered.push('the add'))
    await lookedUp
    expect(answered).toEqual(['the add', 'the look-up'])
  }
})

test('deliveries in a rare state are found without reading all rows', async () => {
  const store = await openFilledStore()
  const share = { destinationId: 'crm', lane: 'first', deliveriesMax: 3, dueByMs: nowMs } as const
  const failing = await store.claim({ nowMs, shares: [share] })
  const settlements = failing.map((delivery) => {
    return { kind: 'failed', delivery, attempts: 1, reason: 'status_404' } as const
  })
  await store.settle({ nowMs, settlements, requests: [] })
  const answered: string[] = []
  const listed = store.list({ filter: { states: ['failed', 'expired'] }, limit: 2 })
  void listed.then(() => answered.push('the look-up'))
  await add(store, 'm_new').then(() => answered.push('the add'))
  expect((await listed).map(({ id }) => id)).toEqual([6, 4])
  expect(answered).toEqual(['the look-up', 'the add'])
  const rest = {
    filter: { states: ['failed'], destinationId: 'crm' },
    limit: 2,
    beforeId: 4,
  } as const
  expect((await store.list(rest)).map(({ id }) => id)).toEqual([2])
})

test('a look-up is rejected when the store closes', async () => {
  const store = await openFilledStore()
  const audited = store.audit()
  await Promise.resolve()
  await store.close()
  await expect(audited).rejects.toMatchObject({ code: 'store_closed' })
})
