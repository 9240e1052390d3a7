import { expect, test } from 'vitest'
import { SqliteLog } from '../../../src/store/sqlite/sqlite-log.ts'
import { nowMs, retried, returned } from '../../conformance/store-under-test.ts'
import { add, claim, newPath, openStore } from './store-calls.ts'

test('returning a delivery has no effect if another process discarded it, but has one if that process retried it', async () => {
  const path = await newPath()
  const store = await openStore(path)
  await add(store, 'm_1', 'm_2')
  const settlements = (await claim(store)).map((delivery) => retried(delivery))
  await store.settle({ nowMs, settlements, requests: [] })
  const [discarded, again] = await claim(store, 'retry')
  const log = await SqliteLog.open(path, { write: true })
  expect(await log.discard({ nowMs, filter: { id: discarded!.id }, limit: 1 })).toMatchObject({
    deliveries: 1,
  })
  expect(await log.retry({ nowMs, filter: { id: again!.id }, limit: 1 })).toMatchObject({
    deliveries: 1,
  })
  await log.close()
  const returns = [returned(discarded!), returned(again!)]
  const effective = await store.settle({ nowMs, settlements: returns, requests: [] })
  expect(effective).toEqual([returned(again!)])
  expect(await claim(store, 'manual')).toMatchObject([{ id: again!.id }])
})
