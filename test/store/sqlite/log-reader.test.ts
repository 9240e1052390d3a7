import { expect, onTestFinished, test } from 'vitest'
import type { DeliveryFilter, NewEvent } from '../../../src/delivery/index.ts'
import { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts'
import { event, nowMs } from '../../conformance/store-under-test.ts'
import { add, newPath } from './store-calls.ts'

/** Several buckets of the indexes that look-ups use, and more than one turn reads. */
const deliveries = 20_000

async function openFilledStore(): Promise<SqliteStore> {
  const store = await SqliteStore.open(await newPath())
  onTestFinished(() => store.close())
  const events = Array.from({ length: deliveries }, (_, index) => numbered(index + 1))
  await store.add({ nowMs, seenSinceMs: 0, events, handOver: [] })
  return store
}

/** Every seventh is about one user, and every second goes to one destination. */
function numbered(number: number): NewEvent {
  const added = event(`m_${number}`, number % 2 === 0 ? 'crm' : 'ads')
  return { ...added, userId: number % 7 === 0 ? 'u_seventh' : null }
}

/** The ids of the deliveries that match a filter, page by page. */
async function listAll(store: SqliteStore, filter: DeliveryFilter): Promise<readonly number[]> {
  const listed: number[] = []
  for (let isLast = false; !isLast;) {
    const page = await store.list({ filter, limit: 1_500, beforeId: listed.at(-1) })
    listed.push(...page.map(({ id }) => id))
    isLast = page.length < 1_500
  }
  return listed
}

test('a long log is listed page by page, the greatest id first', async () => {
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

test('an add gets its turn while a question is answered', async () => {
  const store = await openFilledStore()
  const questions: readonly (() => Promise<unknown>)[] = [
    () => store.audit(),
    () => store.list({ filter: { types: ['page'] }, limit: 1 }),
  ]
  for (const [number, ask] of questions.entries()) {
    const answered: string[] = []
    const asked = ask().then(() => answered.push('the question'))
    await add(store, `m_new_${number}`).then(() => answered.push('the add'))
    await asked
    expect(answered).toEqual(['the add', 'the question'])
  }
})

test('rows of a rare state are found at once, without a walk through all rows', async () => {
  const store = await openFilledStore()
  const share = { destinationId: 'crm', lane: 'first', deliveriesMax: 3, dueByMs: nowMs } as const
  const failing = await store.claim({ nowMs, shares: [share] })
  const settlements = failing.map((delivery) => {
    return { kind: 'failed', delivery, attempts: 1, reason: 'status_404' } as const
  })
  await store.settle({ nowMs, settlements, requests: [] })
  const answered: string[] = []
  const asked = store.list({ filter: { states: ['failed', 'expired'] }, limit: 2 })
  void asked.then(() => answered.push('the question'))
  await add(store, 'm_new').then(() => answered.push('the add'))
  expect((await asked).map(({ id }) => id)).toEqual([6, 4])
  expect(answered).toEqual(['the question', 'the add'])
  const rest = {
    filter: { states: ['failed'], destinationId: 'crm' },
    limit: 2,
    beforeId: 4,
  } as const
  expect((await store.list(rest)).map(({ id }) => id)).toEqual([2])
})

test('a question ends with the store', async () => {
  const store = await openFilledStore()
  const audited = store.audit()
  await Promise.resolve()
  await store.close()
  await expect(audited).rejects.toMatchObject({ code: 'store_closed' })
})
