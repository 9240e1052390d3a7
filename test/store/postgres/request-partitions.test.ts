import { expect, onTestFinished, test, vi } from 'vitest'
import type { LeasedDelivery } from '../../../src/delivery/index.ts'
import { Database } from '../../../src/store/postgres/database.ts'
import {
  delivered,
  nowMs,
  requestOf,
  retried,
  type StoreUnderTest,
} from '../../conformance/store-under-test.ts'
import { PostgresDatabases, schemaOf } from '../../support/postgres.ts'
import { openStore } from './store-calls.ts'

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })

const databases = new PostgresDatabases()
const dayMs = 24 * 60 * 60 * 1_000
const today = Math.floor(nowMs / dayMs)

interface Opened {
  readonly tested: StoreUnderTest
  readonly schema: string
  /** A connection in addition to those of the store. */
  readonly database: Database
  readonly partitions: () => Promise<readonly string[]>
}

async function opened(): Promise<Opened> {
  const url = await databases.newUrl()
  const { tested } = await openStore(url)
  const database = new Database(url, { connectionsMax: 1, isReadOnly: false })
  onTestFinished(() => database.close())
  const schema = schemaOf(url)
  const partitions = async (): Promise<readonly string[]> => {
    const rows = await databases.query(`
      SELECT relname AS name FROM pg_class
      WHERE relnamespace = '${schema}'::regnamespace AND relkind = 'r' AND relispartition ORDER BY 1`)
    return rows.map(({ name }) => String(name).replace('evroute_requests_', ''))
  }
  return { tested, schema, database, partitions }
}

/** Logs a request at a given time. */
function log(
  { tested, delivery }: { readonly tested: StoreUnderTest; readonly delivery: LeasedDelivery },
  atMs: number,
): Promise<unknown> {
  return tested.store.settle({ nowMs: atMs, settlements: [], requests: [requestOf(delivery)] })
}

/** The partitions of a day and of the three days after it, which are created together. */
const namesFrom = (day: number): readonly string[] =>
  ['failure', 'success'].flatMap((kind) => [0, 1, 2, 3].map((ahead) => `${kind}_${day + ahead}`))

test('requests are stored in daily partitions, which are created days in advance', async () => {
  const { tested, partitions } = await opened()
  const delivery = await tested.leaseOne()
  await tested.log([requestOf(delivery)])
  await vi.waitUntil(async () => (await partitions()).length === 8)
  expect(await partitions()).toEqual(namesFrom(today))
})

test('partitions are created while another connection reads all of them', async () => {
  const { tested, schema, partitions } = await opened()
  const delivery = await tested.leaseOne()
  await tested.log([requestOf(delivery)])
  await vi.waitUntil(async () => (await partitions()).length === 8)
  await databases.query(`BEGIN; SELECT FROM ${schema}.evroute_requests`)
  try {
    // None of the partitions that this needs exists yet.
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
  // Waits for the lock first, for at most 8 s. The store must give up before that.
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

test('partitions are dropped as a whole: successes with delivered deliveries, the others with failed ones', async () => {
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

test('a dropped partition is created again', async () => {
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
