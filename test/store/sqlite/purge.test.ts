import { expect, onTestFinished, test } from 'vitest'
import { openDatabase, type Statement } from '../../../src/store/sqlite/database.ts'
import { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts'
import { addAndLease, ended, event, nowMs } from '../../conformance/store-under-test.ts'
import { newPath, withMethods } from './store-calls.ts'

/** Counts the searches of a retry and of a purge when one delivery of each kind is old. */
async function searchesOf(destinations: number): Promise<Readonly<Record<string, number>>> {
  let searches = 0
  const counting = (statement: Statement): Statement => ({
    run: (...values) => statement.run(...values),
    get: (...values) => statement.get(...values),
    iterate: (...values) => statement.iterate(...values),
    all: (...values) => {
      searches++
      return statement.all(...values)
    },
  })
  const store = await SqliteStore.open(await newPath(), async (name) => {
    const database = await openDatabase(name)
    return withMethods(database, { prepare: (sql) => counting(database.prepare(sql)) })
  })
  onTestFinished(() => store.close())
  const destinationIds = Array.from({ length: destinations }, (_, index) => `hook-${index}`)
  const handOver = destinationIds.map((destinationId) => ({ destinationId, deliveriesMax: 1 }))
  const events = [event('m_1', ...destinationIds), event('m_2', ...destinationIds)]
  const { leased } = await addAndLease(store, { nowMs, seenSinceMs: 0, events, handOver })
  const settlements = leased.map((delivery) => ended('failed', delivery))
  await store.settle({ nowMs, settlements, requests: [] })

  searches = 0
  await store.retry({ nowMs, filter: {}, limit: 1 })
  const byRetry = searches
  searches = 0
  const laterMs = nowMs + 1
  await store.purge({
    nowMs: laterMs,
    deliveredBeforeMs: laterMs,
    failedBeforeMs: laterMs,
    abandonedBeforeMs: laterMs,
    messageIdsBeforeMs: laterMs,
    rowsMax: 10,
  })
  return { byRetry, byPurge: searches }
}

test('a purge and a retry search once per kind of delivery, however many destinations there are', async () => {
  expect(await searchesOf(200)).toEqual(await searchesOf(2))
})
