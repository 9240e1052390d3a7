import { expect, test } from 'vitest'
import {
  openPostgresStore,
  type PostgresStore,
} from '../../../src/store/postgres/postgres-store.ts'
import {
  addAndLease,
  deliveredAtOnce,
  event,
  nowMs,
  requestOf,
} from '../../conformance/store-under-test.ts'
import { PostgresDatabases, schemaOf } from '../../support/postgres.ts'

const databases = new PostgresDatabases()

test('a successful first try writes no row to the table of requests', async () => {
  const url = await databases.newUrl()
  await using store = await opened(url)
  const events = ['m_1', 'm_2'].map((messageId) => event(messageId, 'crm'))
  const handOver = [{ destinationId: 'crm', deliveriesMax: 2 }]
  const { leased } = await addAndLease(store, { nowMs, seenSinceMs: 0, events, handOver })
  const requests = leased.map((delivery) =>
    requestOf(delivery, { outcome: 'success', status: 200, error: null }),
  )
  const settlements = leased.map((delivery, index) => deliveredAtOnce(delivery, requests[index]!))
  await store.settle({ nowMs, settlements, requests: [] })
  const schema = schemaOf(url)
  expect(await databases.query(`SELECT FROM ${schema}.evroute_requests`)).toEqual([])
  for (const [index, delivery] of leased.entries()) {
    expect(await store.story(delivery)).toMatchObject({ requests: [requests[index]] })
  }
})

async function opened(url: string): Promise<PostgresStore & AsyncDisposable> {
  const store = await openPostgresStore(url)
  return Object.assign(store, { [Symbol.asyncDispose]: () => store.close() })
}
