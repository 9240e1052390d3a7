import { expect, test, vi } from 'vitest'
import { events, requestOf } from '../../conformance/store-under-test.ts'
import { PostgresDatabases } from '../../support/postgres.ts'
import { openStore } from './store-calls.ts'

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })

const databases = new PostgresDatabases()

test('the rows of every table are reported, and those of partitions with their table', async () => {
  const { store, tested } = await openStore(await databases.newUrl())
  await tested.add(events(20, 'crm'))
  const [delivery] = await tested.claim('crm', { deliveriesMax: 5 })
  await tested.log([requestOf(delivery!)])
  // The server updates its statistics later, so only the names can be checked.
  const tables = await store.tableRows()
  const names = tables.map(({ table }) => table)
  expect(names).toContain('evroute_deliveries')
  expect(tables.every(({ liveRows, deadRows }) => liveRows >= 0 && deadRows >= 0)).toBe(true)
  expect(names).toContain('evroute_audiences')
  // Daily partitions are part of their table.
  expect(names.filter((name) => /\d/.test(name))).toEqual([])
  expect(names.some((name) => name.startsWith('evroute_requests'))).toBe(true)
})
