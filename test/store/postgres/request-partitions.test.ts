import { expect, onTestFinished, test, vi } from 'vitest'
import { PostgresStore } from '../../../src/store/postgres/postgres-store.ts'
import {
  delivered,
  nowMs,
  requestOf,
  retried,
  StoreUnderTest,
} from '../../conformance/store-under-test.ts'
import { PostgresDatabases } from '../../support/postgres.ts'

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })

const databases = new PostgresDatabases()
const dayMs = 24 * 60 * 60 * 1_000
const today = Math.floor(nowMs / dayMs)

async function opened(): Promise<{ tested: StoreUnderTest; partitions: () => Promise<unknown> }> {
  const url = await databases.newUrl()
  const store = await PostgresStore.open(url)
  onTestFinished(() => store.close())
  const tested = new StoreUnderTest(() => Promise.resolve(store))
  await tested.begin()
  const [, schema = ''] = /search_path%3D(\w+)/.exec(url) ?? []
  const partitions = async (): Promise<unknown> => {
    const rows = await databases.query(`
      SELECT relname AS name FROM pg_class
      WHERE relnamespace = '${schema}'::regnamespace AND relkind = 'r' AND relispartition ORDER BY 1`)
    return rows.map(({ name }) => String(name).replace('evroute_requests_', ''))
  }
  return { tested, partitions }
}

test('requests are kept by days, each made the day before', async () => {
  const { tested, partitions } = await opened()
  const delivery = await tested.leaseOne()
  await tested.log([requestOf(delivery)])
  await vi.waitUntil(async () => ((await partitions()) as unknown[]).length === 4)
  const names = [
    `failure_${today}`,
    `failure_${today + 1}`,
    `success_${today}`,
    `success_${today + 1}`,
  ]
  expect(await partitions()).toEqual(names)
})

test('days go as a whole: successes with what was delivered, others with what failed', async () => {
  const { tested, partitions } = await opened()
  const delivery = await tested.leaseOne()
  await tested.log([requestOf(delivery)], retried(delivery))
  const again = await tested.claimOne('crm', { lane: 'retry' })
  await tested.log(
    [requestOf(again, { outcome: 'success', status: 200, error: null })],
    delivered(again),
  )
  await vi.waitUntil(async () => ((await partitions()) as unknown[]).length === 4)

  const purge = async (atMs: number): Promise<unknown> => {
    const request = {
      nowMs: atMs,
      deliveredBeforeMs: atMs - dayMs,
      failedBeforeMs: atMs - 30 * dayMs,
    }
    while ((await tested.purge(request)).rows > 0);
    return partitions()
  }
  const failures = [`failure_${today}`, `failure_${today + 1}`]
  expect(await purge(nowMs + 2 * dayMs)).toContain(`success_${today}`)
  expect(await purge(nowMs + 3 * dayMs)).toEqual([...failures, `success_${today + 1}`])
  expect(await purge(nowMs + 4 * dayMs)).toEqual(failures)
  expect(await purge(nowMs + 32 * dayMs)).toEqual([`failure_${today + 1}`])
  expect(await purge(nowMs + 33 * dayMs)).toEqual([])
})

test('a day that somebody dropped is made again', async () => {
  const { tested, partitions } = await opened()
  const delivery = await tested.leaseOne()
  await tested.log([requestOf(delivery)])
  const farAhead = nowMs + 100 * dayMs
  await tested.purge({ nowMs: farAhead, deliveredBeforeMs: farAhead, failedBeforeMs: farAhead })
  expect(await partitions()).toEqual([])
  await tested.log([requestOf(delivery, { attempt: 2 })], delivered(delivery))
  expect((await tested.story(delivery)).requests).toMatchObject([{ attempt: 2 }])
})
