import type { LeasedDelivery, NewEvent } from '../../../src/delivery/index.ts'
import type { RequestRecord } from '../../../src/model/index.ts'
import { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts'
import {
  delivered,
  deliveredAtOnce,
  ended,
  event,
  keepAll,
  nowMs,
  requestOf,
  retried,
} from '../../conformance/store-under-test.ts'
import { addAudiences, addRegulations } from './full-subjects.ts'
import { oddTexts } from './odd-texts.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs

/**
 * Creates a store with everything that a store can contain: bodies that several deliveries share, every
 * state and lane, holds, requests of several days, counts of purged deliveries, and odd texts.
 */
export async function makeFullStore(path: string): Promise<void> {
  const store = await SqliteStore.open(path)
  await addPurged(store)
  await addEvents(store)
  await settleSome(store)
  await addAudiences(store)
  await addRegulations(store)
  await store.close()
}

async function addPurged(store: SqliteStore): Promise<void> {
  const atMs = nowMs - 40 * dayMs
  await store.add({ nowMs: atMs, seenSinceMs: 0, events: eventsOf('old', 6), handOver: [] })
  const claimed = await claim(store, 'crm', 6)
  const [one, two, three, four, ...others] = claimed
  const settlements = [delivered(one!), delivered(two!), ended('failed', three!)]
  await store.settle({
    nowMs: atMs,
    settlements: [
      ...settlements,
      ended('expired', four!),
      ...others.map((each) => delivered(each)),
    ],
    requests: claimed.map((delivery) => requestOf(delivery, { atMs })),
  })
  await store.purge({ ...keepAll, deliveredBeforeMs: nowMs, failedBeforeMs: nowMs })
}

async function addEvents(store: SqliteStore): Promise<void> {
  const shared: NewEvent[] = eventsOf('fan', 20).map((each) => ({
    ...each,
    deliveries: ['crm', 'lake', 'mail'].map((destinationId) => {
      return { destinationId, body: destinationId === 'mail' ? 'other' : `same ${each.messageId}` }
    }),
  }))
  const odd = oddTexts.map((text, index) => ({
    ...event(`odd ${index} ${text}`),
    sourceId: `source ${text}`,
    userId: text,
    deliveries: [{ destinationId: `to ${text}`, body: `{"text":${text}}` }],
  }))
  const withoutUser = { ...event('without_user', 'crm'), userId: null }
  const alias = { ...event('alias', 'crm'), type: 'alias' as const, previousId: 'u_0' }
  const events = [...shared, ...odd, withoutUser, alias, event('filtered'), event('fan_1', 'crm')]
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
  await store.add({ nowMs, seenSinceMs: 0, events, handOver: [], traceparent })
}

async function settleSome(store: SqliteStore): Promise<void> {
  const crm = await claim(store, 'crm', 12)
  const lake = await claim(store, 'lake', 6)
  const holds = [
    { url: 'https://example.com/gone?x="1"', untilMs: null },
    { url: 'https://example.com/later', untilMs: nowMs + hourMs },
  ]
  const settlements = [
    ...crm.slice(0, 3).map((each) => deliveredAtOnce(each, successOf(each))),
    ...crm.slice(3, 5).map((each) => ended('failed', each)),
    ...crm.slice(5, 7).map((each) => ended('expired', each)),
    ...crm.slice(7, 9).map((each) => retried(each, nowMs + hourMs, { holds })),
    ...lake.slice(0, 2).map((each) => ended('failed', each)),
  ]
  const requests = [...crm, ...lake].flatMap((delivery, index) => [
    requestOf(delivery, { durationMs: 12.345678901234567, excerpt: oddTexts[0]! }),
    requestOf(delivery, {
      outcome: 'final',
      status: null,
      error: 'ECONNRESET',
      atMs: nowMs - dayMs,
    }),
    ...(index < 3 ? [] : [successOf(delivery)]),
  ])
  await store.settle({ nowMs, settlements, requests })
  await store.retry({ nowMs, filter: { destinationId: 'lake', states: ['failed'] }, limit: 1 })
}

function successOf(delivery: LeasedDelivery): RequestRecord {
  const success = { outcome: 'success', status: 200, error: null } as const
  return requestOf(delivery, { ...success, durationMs: 0.1 + 0.2 })
}

function eventsOf(name: string, count: number): NewEvent[] {
  return Array.from({ length: count }, (_, index) => event(`${name}_${index}`, 'crm'))
}

function claim(store: SqliteStore, destinationId: string, deliveriesMax: number) {
  const share = { destinationId, lane: 'first' as const, deliveriesMax, dueByMs: nowMs }
  return store.claim({ nowMs, shares: [share] })
}
