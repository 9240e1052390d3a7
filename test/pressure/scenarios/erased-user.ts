import { Client } from 'pg'
import { systemClock, stopwatch } from '../../../src/runtime/index.ts'
import {
  openPostgresStore,
  type PostgresStore,
} from '../../../src/store/postgres/postgres-store.ts'
import type { NewEvent } from '../../../src/delivery/index.ts'
import { requestOf } from '../../conformance/store-under-test.ts'
import { findInPostgres } from '../../support/find-text.ts'
import { PostgresServer, withParameter } from '../../support/postgres.ts'
import type { PressureFinding, PressureScenario } from '../scenario.ts'

const users = 2_000
const eventsEach = 20
const batch = 1_000
const erasedUser = 'shopper_0007'
const regulation = {
  id: 'r_1',
  type: 'DELETE_INTERNAL',
  userIds: [erasedUser],
  sourceIds: null,
} as const

function eventAbout(userId: string, number: number): NewEvent {
  const messageId = `m_${number}`
  const body = JSON.stringify({ type: 'track', userId, messageId })
  const deliveries = [{ destinationId: 'crm', body }]
  return { sourceId: 'website', messageId, type: 'track', userId, deliveries }
}

/** Fails deliveries with answers that repeat the user's id, as endpoints do. */
async function failAll(store: PostgresStore): Promise<void> {
  const nowMs = systemClock.nowMs()
  const share = {
    destinationId: 'crm',
    lane: 'first',
    dueByMs: nowMs,
    deliveriesMax: batch,
  } as const
  for (;;) {
    const leased = await store.claim({ nowMs, shares: [share] })
    if (leased.length === 0) return
    const requests = leased.map((delivery) => {
      const { userId } = JSON.parse(delivery.body) as { readonly userId: string }
      return requestOf(delivery, { atMs: nowMs, excerpt: `unknown user ${userId}` })
    })
    const settlements = leased.map(
      (delivery) => ({ kind: 'failed', delivery, attempts: 1, reason: 'status_404' }) as const,
    )
    await store.settle({ nowMs, settlements, requests })
  }
}

async function purgeHalf(store: PostgresStore, halfMs: number): Promise<void> {
  const nowMs = systemClock.nowMs()
  const none = { deliveredBeforeMs: 0, abandonedBeforeMs: 0, messageIdsBeforeMs: 0 }
  const request = { ...none, nowMs, failedBeforeMs: halfMs, rowsMax: batch }
  while ((await store.purge(request)).rows > 0);
}

async function erase(store: PostgresStore): Promise<void> {
  const nowMs = systemClock.nowMs()
  await store.regulations.create({ regulation, notifications: [], nowMs })
  const { id } = regulation
  while ((await store.regulations.erase({ id, nowMs, rowsMax: batch })) === 'more');
}

async function eraseUser(url: string): Promise<readonly PressureFinding[]> {
  const client = new Client({ connectionString: url })
  const store = await openPostgresStore(url)
  await client.connect()
  try {
    let number = 0
    let halfMs = 0
    for (let round = 0; round < eventsEach; round++) {
      if (round === eventsEach / 2) {
        await failAll(store)
        halfMs = systemClock.nowMs() + 1
      }
      const events = Array.from({ length: users }, (_, index) =>
        eventAbout(`shopper_${String(index).padStart(4, '0')}`, ++number),
      )
      await store.add({ nowMs: systemClock.nowMs(), seenSinceMs: 0, events, handOver: [] })
    }
    await failAll(store)
    await purgeHalf(store, halfMs)
    const elapsedMs = stopwatch()
    await erase(store)
    const seconds = (elapsedMs() / 1_000).toFixed(1)
    const query = async (sql: string) => (await client.query<Record<string, unknown>>(sql)).rows
    const found = await findInPostgres({ query }, url, erasedUser)
    const others = await findInPostgres({ query }, url, 'shopper_0008')
    return [
      {
        must: 'no column of the database contains the user after the erasure',
        measured: found.length === 0 ? `none, after ${seconds} s` : found.join(),
        holds: found.length === 0,
      },
      {
        must: 'the same search still finds a different user',
        measured: others.join(),
        holds: others.length > 0,
      },
    ]
  } finally {
    await client.end()
    await store.close()
  }
}

async function run(): Promise<readonly PressureFinding[]> {
  const server = await PostgresServer.start()
  try {
    return await eraseUser(withParameter(server.url(), 'options', '-c search_path=public'))
  } finally {
    await server.end()
  }
}

/** A deletion request after half of the user's failed deliveries were purged. */
export const scenario: PressureScenario = {
  title: `one of ${users} users is erased after half of the user's ${eventsEach} deliveries were purged`,
  run,
}
