import { expect, test } from 'vitest'
import { SqliteLog } from '../../../src/store/sqlite/sqlite-log.ts'
import { deliveredAtOnce, nowMs, requestOf } from '../../conformance/store-under-test.ts'
import { rowsOf } from './older-store.ts'
import { add, claim, newPath, openStore } from './store-calls.ts'

const success = { outcome: 'success', status: 200, error: null } as const
const countRequests = 'SELECT count(*) AS count FROM requests'

test('a successful first try writes no row to the table of requests', async () => {
  const path = await newPath()
  const store = await openStore(path)
  await add(store, 'm_1', 'm_2')
  const leased = await claim(store)
  const requests = leased.map((delivery) => requestOf(delivery, success))
  const settlements = leased.map((delivery, index) => deliveredAtOnce(delivery, requests[index]!))
  await store.settle({ nowMs, settlements, requests: [] })
  expect(await rowsOf(path, countRequests)).toEqual([{ count: 0 }])
  for (const [index, delivery] of leased.entries()) {
    expect(await store.story(delivery)).toMatchObject({ requests: [requests[index]] })
  }
})

test('a delivery that another process discards while it is sent keeps its request', async () => {
  const path = await newPath()
  const store = await openStore(path)
  await add(store, 'm_1', 'm_2')
  const leased = await claim(store)
  const [discarded, other] = leased
  const log = await SqliteLog.open(path, { write: true })
  await log.discard({ nowMs, filter: { id: discarded!.id }, limit: 1 })
  await log.close()
  const requests = leased.map((delivery) => requestOf(delivery, success))
  const settlements = leased.map((delivery, index) => deliveredAtOnce(delivery, requests[index]!))
  expect(await store.settle({ nowMs, settlements, requests: [] })).toEqual(settlements)
  expect(await rowsOf(path, countRequests)).toEqual([{ count: 1 }])
  for (const [index, delivery] of [discarded!, other!].entries()) {
    const story = await store.story(delivery)
    expect(story).toMatchObject({ state: 'delivered', requests: [requests[index]] })
  }
})
