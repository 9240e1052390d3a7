import { expect, onTestFinished, test, vi } from 'vitest'
import type { LeasedDelivery } from '../../../src/delivery/index.ts'
import { Database } from '../../../src/store/postgres/database.ts'
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

interface Opened {
  readonly tested: StoreUnderTest
  readonly schema: string
  /** A connection of its own, beside the store's. */
  readonly database: Database
  readonly partitions: () => Promise<readonly string[]>
}

async function opened(): Promise<Opened> {
  const url = await databases.newUrl()
  const store = await PostgresStore.open(url)
  const database = new Database(url, { connectionsMax: 1, isReadOnly: false })
  onTestFinished(async () => {
    await Promise.all([store.close(), database.close()])
  })
  const tested = new StoreUnderTest(() => Promise.resolve(store))
  await tested.begin()
  const [, schema = ''] = /search_path%3D(\w+)/.exec(url) ?? []
  const partitions = async (): Promise<readonly string[]> => {
    const rows = await databases.query(`
      SELECT relname AS name FROM pg_class
      WHERE relnamespace = '${schema}'::regnamespace AND relkind = 'r' AND relispartition ORDER BY 1`)
    return rows.map(({ name }) => String(name).replace('evroute_requests_', ''))
  }
  return { tested, schema, database, partitions }
}

/** Logs a request at a moment. */
function log(
  { tested, delivery }: { readonly tested: StoreUnderTest; readonly delivery: LeasedDelivery },
  atMs: number,
): Promise<unknown> {
  return tested.store.settle({ nowMs: atMs, settlements: [], requests: [requestOf(delivery)] })
}

/** Of a day, and of those that are made with it. */
const namesFrom = (day: number): readonly string[] =>
  ['failure', 'success'].flatMap((kind) => [0, 1, 2, 3].map((ahead) => `${kind}_${day + ahead}`))

test('requests are kept by days, each made some days before', async () => {
  const { tested, partitions } = await opened()
  const delivery = await tested.leaseOne()
  await tested.log([requestOf(delivery)])
  await vi.waitUntil(async () => (await partitions()).length === 8)
  expect(await partitions()).toEqual(namesFrom(today))
})

test('days are created while another connection reads all of them', async () => {
  const { tested, schema, partitions } = await opened()
  const delivery = await tested.leaseOne()
  await tested.log([requestOf(delivery)])
  await vi.waitUntil(async () => (await partitions()).length === 8)
  await databases.query(`BEGIN; SELECT FROM ${schema}.evroute_requests`)
  try {
    // None of the days that it needs is there yet.
    await log({ tested, delivery }, nowMs + 10 * dayMs)
    await vi.waitUntil(async () => (await partitions()).length === 16)
  } finally {
    await databases.query('COMMIT')
  }
  expect((await tested.story(delivery)).requests).toHaveLength(2)
})

test('a partition that could not be created in advance delays one write briefly, and the next only minutes later', async () => {
  const { tested, schema, database, partitions } = await opened()
  const delivery = await tested.leaseOne()
  await tested.log([requestOf(delivery)])
  await vi.waitUntil(async () => (await partitions()).length === 8)
  const waiting = async (): Promise<number> =>
    (await databases.query('SELECT FROM pg_locks WHERE NOT granted')).length
  const lock = `LOCK TABLE ${schema}.evroute_requests_success IN SHARE UPDATE EXCLUSIVE MODE`
  await databases.query(`BEGIN; ${lock}`)
  // Waits from before on for less than statements do by default: it has to be outlasted.
  let isPatient = true
  const patient = database.script(["SET LOCAL lock_timeout = '8s'", lock])
  patient.catch(() => {
    isPatient = false
  })
  await vi.waitUntil(async () => (await waiting()) === 1, 60_000)
  await log({ tested, delivery }, nowMs + dayMs)
  await vi.waitUntil(async () => (await waiting()) === 2, 60_000)
  await vi.waitUntil(async () => (await waiting()) < 2, 60_000)
  expect(isPatient).toBe(true)
  await databases.query('COMMIT')
  await patient
  await log({ tested, delivery }, nowMs + dayMs + 60_000)
  expect(await partitions()).toHaveLength(8)
  await log({ tested, delivery }, nowMs + dayMs + 10 * 60_000)
  await vi.waitUntil(async () => (await partitions()).length === 10)
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
  await vi.waitUntil(async () => (await partitions()).length === 8)

  const purge = async (atMs: number): Promise<readonly string[]> => {
    const request = {
      nowMs: atMs,
      deliveredBeforeMs: atMs - dayMs,
      failedBeforeMs: atMs - 30 * dayMs,
    }
    while ((await tested.purge(request)).rows > 0);
    return partitions()
  }
  const [failures, successes] = [namesFrom(today).slice(0, 4), namesFrom(today).slice(4)]
  expect(await purge(nowMs + 2 * dayMs)).toContain(`success_${today}`)
  expect(await purge(nowMs + 3 * dayMs)).toEqual([...failures, ...successes.slice(1)])
  expect(await purge(nowMs + 6 * dayMs)).toEqual(failures)
  expect(await purge(nowMs + 32 * dayMs)).toEqual(failures.slice(1))
  expect(await purge(nowMs + 35 * dayMs)).toEqual([])
})

test('a day that somebody dropped is made again', async () => {
  const { tested, partitions } = await opened()
  const delivery = await tested.leaseOne()
  await tested.log([requestOf(delivery)])
  await vi.waitUntil(async () => (await partitions()).length === 8)
  const farAhead = nowMs + 100 * dayMs
  await tested.purge({ nowMs: farAhead, deliveredBeforeMs: farAhead, failedBeforeMs: farAhead })
  expect(await partitions()).toEqual([])
  await tested.log([requestOf(delivery, { attempt: 2 })], delivered(delivery))
  expect((await tested.story(delivery)).requests).toMatchObject([{ attempt: 2 }])
})
