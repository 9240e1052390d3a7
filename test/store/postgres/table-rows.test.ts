import { expect, onTestFinished, test, vi } from 'vitest'
import { PostgresStore } from '../../../src/store/postgres/postgres-store.ts'
import { events, requestOf, StoreUnderTest } from '../../conformance/store-under-test.ts'
import { PostgresDatabases } from '../../support/postgres.ts'

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })

const databases = new PostgresDatabases()

test('the rows of every table are told, those of partitions as those of their table', async () => {
  const url = await databases.newUrl()
  const store = await PostgresStore.open(url)
  onTestFinished(() => store.close())
  const tested = new StoreUnderTest(() => Promise.resolve(store))
  await tested.begin()
  await tested.add(events(20, 'crm'))
  const [delivery] = await tested.claim('crm', { deliveriesMax: 5 })
  await tested.log([requestOf(delivery!)])
  // The server counts a while later: here it is enough that each table is told of.
  const tables = await store.tableRows()
  const names = tables.map(({ table }) => table)
  expect(names).toContain('evroute_deliveries')
  expect(tables.every(({ liveRows, deadRows }) => liveRows >= 0 && deadRows >= 0)).toBe(true)
  expect(names).toContain('evroute_audiences')
  // Days count as the table that they are of.
  expect(names.filter((name) => /\d/.test(name))).toEqual([])
  expect(names.some((name) => name.startsWith('evroute_requests'))).toBe(true)
})
