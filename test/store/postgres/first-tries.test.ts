import { expect, test } from 'vitest'
import { PostgresStore } from '../../../src/store/postgres/postgres-store.ts'
import {
  addAndLease,
  deliveredAtOnce,
  event,
  nowMs,
  requestOf,
} from '../../conformance/store-under-test.ts'
import { PostgresDatabases } from '../../support/postgres.ts'

const databases = new PostgresDatabases()

test('a first try that succeeds costs no row of its own', async () => {
  const url = await databases.newUrl()
  await using store = await opened(url)
  const events = ['m_1', 'm_2'].map((messageId) => event(messageId, 'crm'))
  const handOver = [{ destinationId: 'crm', deliveriesMax: 2 }]
  const { leased } = await addAndLease(store, { nowMs, seenSinceMs: 0, events, handOver })
  const requests = leased.map((delivery) =>
    requestOf(delivery, { outcome: 'success', status: 200, error: null }),
  )
  const settlements = leased.map((delivery, place) => deliveredAtOnce(delivery, requests[place]!))
  await store.settle({ nowMs, settlements, requests: [] })
  const [, schema = ''] = /search_path%3D(\w+)/.exec(url) ?? []
  expect(await databases.query(`SELECT FROM ${schema}.evroute_requests`)).toEqual([])
  for (const [place, delivery] of leased.entries()) {
    expect(await store.story(delivery)).toMatchObject({ requests: [requests[place]] })
  }
})

async function opened(url: string): Promise<PostgresStore & AsyncDisposable> {
  const store = await PostgresStore.open(url)
  return Object.assign(store, { [Symbol.asyncDispose]: () => store.close() })
}
