import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type { DueTime, LeasedDelivery } from '../../../src/delivery/index.ts'
import type { Lane } from '../../../src/model/index.ts'
import { Database } from '../../../src/store/postgres/database.ts'
import {
  openPostgresStore,
  type PostgresStoreOptions,
} from '../../../src/store/postgres/postgres-store.ts'
import {
  delivered,
  ended,
  event,
  events,
  messageIds,
  nowMs,
  requestOf,
  retried,
  returned,
  type StoreUnderTest,
} from '../../conformance/store-under-test.ts'
import { PostgresDatabases, schemaOf } from '../../support/postgres.ts'
import { connect, openStore } from './store-calls.ts'

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })

const databases = new PostgresDatabases()

async function openAt(url: string, options?: PostgresStoreOptions): Promise<StoreUnderTest> {
  return (await openStore(url, options)).tested
}

/** Opens two stores on one database, which the database regards as two processes. */
async function openTwo(): Promise<readonly [StoreUnderTest, StoreUnderTest]> {
  const url = await databases.newUrl()
  return [await openAt(url), await openAt(url)]
}

const leaseMs = 60_000
const afterLeaseMs = nowMs + leaseMs

function claimAt(
  { store }: StoreUnderTest,
  atMs: number,
  lane: Lane = 'first',
): Promise<readonly LeasedDelivery[]> {
  const share = { destinationId: 'crm', lane, deliveriesMax: 100, dueByMs: nowMs }
  return store.claim({ nowMs: atMs, shares: [share] })
}

function dueAt({ store }: StoreUnderTest, atMs: number): Promise<readonly DueTime[]> {
  return store.nextDue({ nowMs: atMs, destinationIds: ['crm'] })
}

test('a delivery without a body, as in a damaged database, is not due and does not delay the others', async () => {
  const url = await databases.newUrl()
  const tested = await openAt(url)
  await tested.add(events(3, 'crm'))
  const database = new Database(url, { connectionsMax: 1, isReadOnly: false })
  onTestFinished(() => database.close())
  await database.rows({ sql: 'DELETE FROM evroute_messages WHERE id = 1', values: [] })
  const claimed = []
  for (let turn = 0; turn < 4; turn++) {
    claimed.push(...(await tested.claim('crm', { deliveriesMax: 1 })))
  }
  expect(messageIds(claimed)).toEqual(['m_2', 'm_3'])
  expect(await tested.nextDue('crm')).toEqual([])
  expect(await tested.store.audit()).toMatchObject({ counted: { pending: 3 }, withoutBody: 1 })
})

test('the probe of writability does not wait for manual retries that take long', async () => {
  const url = await databases.newUrl()
  const tested = await openAt(url)
  const client = await connect(url)
  await client.query('BEGIN; LOCK TABLE evroute_deliveries IN EXCLUSIVE MODE')
  const retries = Array.from({ length: 3 }, () => tested.retry())
  await tested.store.checkWritable()
  await client.query('COMMIT')
  expect(await Promise.all(retries)).toEqual([0, 0, 0])
})

describe('two processes', () => {
  test('lease no delivery twice', async () => {
    const [one, other] = await openTwo()
    await one.add(events(60, 'crm'))
    const claims = Array.from({ length: 30 }, (_, index) =>
      (index % 2 === 0 ? one : other).claim('crm', { deliveriesMax: 3 }),
    )
    const claimed = [...(await Promise.all(claims)).flat(), ...(await one.claim('crm'))]
    expect(claimed).toHaveLength(60)
    expect(new Set(messageIds(claimed)).size).toBe(60)
  })

  test('skip deliveries that the other has leased', async () => {
    const [one, other] = await openTwo()
    await one.add([event('tried', 'crm')])
    await one.settle(retried(await one.claimOne('crm'), nowMs))
    await one.claimOne('crm', { lane: 'retry' })
    const { leased } = await one.add(events(2, 'crm'), {
      handOver: [{ destinationId: 'crm', deliveriesMax: 1 }],
    })
    expect(leased).toHaveLength(1)
    expect(messageIds(await other.claim('crm'))).toEqual(['m_2'])
    expect(await other.nextDue('crm')).toEqual([])
    expect(await other.retry()).toBe(0)
    expect(await other.purge({ abandonedBeforeMs: nowMs + 1 })).toEqual({ rows: 0, expired: [] })
    expect(await other.retry({}, { atMs: afterLeaseMs })).toBe(1)
  })

  test('accept a messageId once if both add it concurrently', async () => {
    const [one, other] = await openTwo()
    const batch = events(50, 'crm')
    const [first, second] = await Promise.all([
      one.outcomes(batch),
      other.outcomes(batch.toReversed()),
    ])
    const outcomes = batch.map((_, index) => [first[index]!, second.at(-1 - index)!].toSorted())
    expect(outcomes).toEqual(batch.map(() => ['duplicate', 'routed']))
    await one.expectBalance()
  })

  test('keep the ledger consistent during concurrent work', async () => {
    const [one, other] = await openTwo()
    await one.add(events(40, 'crm', 'mail'))
    const work = [one, other].flatMap((tested, storeIndex) =>
      Array.from({ length: 10 }, async (_, index) => {
        const leased = await tested.claim('crm', { deliveriesMax: 2 })
        const ends = leased.map((each, of) => (of === 0 ? delivered(each) : ended('failed', each)))
        await tested.log(
          leased.map((delivery) => requestOf(delivery)),
          ...ends,
        )
        await tested.add([event(`n_${storeIndex}_${index}`, 'mail', 'crm'), event('m_1', 'crm')])
        await tested.retry({}, { limit: 1 })
        await tested.purge({ deliveredBeforeMs: nowMs + 1, failedBeforeMs: nowMs, rowsMax: 3 })
        await tested.expectBalance()
      }),
    )
    await Promise.all(work)
    const ledger = await other.store.ledger()
    expect(ledger).toEqual(await one.store.ledger())
    expect(ledger).toMatchObject({ accepted: 80, routed: 60, duplicate: 20, deliveries: 120 })
  })

  test('leave no body behind when both purge its deliveries concurrently', async () => {
    const url = await databases.newUrl()
    const [one, other] = [await openAt(url), await openAt(url)]
    const deliveries = ['crm', 'mail'].map((destinationId) => ({ destinationId, body: 'for both' }))
    await one.add([{ ...event('m_1'), deliveries }])
    await one.settle(delivered(await one.claimOne('crm')), delivered(await one.claimOne('mail')))
    const schema = schemaOf(url)
    // Both delete a delivery before either can delete the body.
    await databases.query(`BEGIN; SELECT FROM ${schema}.evroute_messages FOR UPDATE`)
    const purges = [one, other].map((each) =>
      each.purge({ deliveredBeforeMs: nowMs + 1, rowsMax: 1 }),
    )
    const waiting = "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
    await vi.waitUntil(async () => (await databases.query(waiting)).length === 2, 60_000)
    await databases.query('COMMIT')
    await Promise.all(purges)
    expect(await databases.query(`SELECT FROM ${schema}.evroute_messages`)).toEqual([])
    await one.expectBalance()
  })

  /** Opens a store that listens. `next` returns its notifications one by one. */
  async function listening(url: string) {
    const received: (readonly DueTime[] | undefined)[] = []
    let onReceived: (() => void) | undefined
    const onNotification = (dueTimes?: readonly DueTime[]): void => {
      received.push(dueTimes)
      onReceived?.()
    }
    const next = async (): Promise<readonly DueTime[] | undefined> => {
      if (received.length === 0) await new Promise<void>((resolve) => (onReceived = resolve))
      return received.shift()
    }
    const one = await openAt(url, { onNotification })
    // Earlier notifications may have been missed.
    expect(await next()).toBeUndefined()
    return { one, next }
  }

  test('notify each other of lanes with deliveries to claim, and of their due times', async () => {
    const url = await databases.newUrl()
    const { one, next } = await listening(url)
    const other = await openAt(url)
    await other.add([event('m_1', 'crm', 'odd\0"\ud800'), event('m_2', 'crm')], {
      handOver: [{ destinationId: 'odd\0"\ud800', deliveriesMax: 1 }],
    })
    const due = { destinationId: 'crm', lane: 'first', dueAtMs: nowMs }
    expect(await next()).toEqual([due])
    const [delivery] = await other.claim('crm', { deliveriesMax: 1 })
    await other.settle(returned(delivery!, nowMs + 7))
    expect(await next()).toEqual([{ ...due, dueAtMs: nowMs + 7 }])
    const claimed = await one.claim('crm', { dueByMs: nowMs + 7 })
    await one.settle(...claimed.map((each) => ended('failed', each)))
    const log = await openPostgresStore(url, { access: 'write' })
    await log.retry({ nowMs, filter: { destinationId: 'crm' }, limit: 1 })
    expect(await next()).toEqual([{ ...due, lane: 'manual' }])
    await log.retry({ nowMs, filter: {}, limit: 9 })
    expect(await next()).toBeUndefined()
    await log.close()
  })

  test('notify each other of many destinations at once, or of all', async () => {
    const url = await databases.newUrl()
    const { next } = await listening(url)
    const other = await openAt(url)
    const ids = Array.from({ length: 600 }, (_, index) => `destination ${index} 漢字`)
    await other.add([event('m_1', ...ids)])
    const notified: string[] = []
    while (notified.length < ids.length) {
      notified.push(...((await next()) ?? []).map(({ destinationId }) => destinationId))
    }
    expect(notified).toEqual(ids)
    await other.add([event('m_2', 'x'.repeat(8_000))])
    expect(await next()).toBeUndefined()
  })
})

describe('a lease', () => {
  test('that expires lets another process claim the delivery, without counting an attempt', async () => {
    const [one, other] = await openTwo()
    await one.add([event('m_1', 'crm')])
    await one.settle(retried(await one.claimOne('crm'), nowMs))
    const before = await one.claimOne('crm', { lane: 'retry' })
    expect(await claimAt(other, afterLeaseMs - 1, 'retry')).toEqual([])
    const leasedUntilMs = afterLeaseMs + leaseMs
    const [claimed] = await claimAt(other, afterLeaseMs, 'retry')
    expect(claimed).toEqual({ ...before, leasedUntilMs, lease: claimed!.lease })
  })

  test('contains the time at which it expires', async () => {
    const [one] = await openTwo()
    const { leased } = await one.add([event('m_1', 'crm')], {
      handOver: [{ destinationId: 'crm', deliveriesMax: 1 }],
    })
    await one.add([event('m_2', 'crm')], { atMs: nowMs - 5 })
    const claimed = await one.claim('crm')
    const ends = [...leased, ...claimed].map(({ leasedUntilMs }) => leasedUntilMs)
    expect(ends).toEqual([afterLeaseMs, afterLeaseMs])
  })

  test('that another process took over can still be settled as delivered', async () => {
    const [one, other] = await openTwo()
    await one.add(events(3, 'crm'))
    const before = await one.claim('crm')
    const after = await claimAt(other, afterLeaseMs)
    await other.settle(retried(after[1]!), ended('failed', after[2]!))
    const late = before.map(delivered)
    expect(await one.settle(...late)).toEqual([late[0]])
    expect(await one.store.ledger()).toMatchObject({ delivered: 1, failed: 1, pending: 1 })
    const second = [delivered(after[0]!)]
    expect(await other.settle(...second)).toEqual([])
    expect(await one.store.ledger()).toMatchObject({ delivered: 1, failed: 1, pending: 1 })
    await one.expectBalance()
  })

  test('that another process took over cannot be settled in any other way', async () => {
    const [one, other] = await openTwo()
    await one.add(events(3, 'crm'))
    const before = await one.claim('crm')
    const after = await claimAt(other, afterLeaseMs)
    const late = [ended('failed', before[0]!), retried(before[1]!), returned(before[2]!)]
    expect(await one.settle(...late)).toEqual([])
    expect(await one.store.ledger()).toMatchObject({ delivered: 0, pending: 3 })
    expect(await one.list()).toMatchObject([
      { lane: 'first' },
      { lane: 'first' },
      { lane: 'first' },
    ])
    await other.settle(...after.map(delivered))
    expect(await one.store.ledger()).toMatchObject({ delivered: 3, pending: 0 })
  })

  test('that expired can be settled if no other process claimed the delivery', async () => {
    const [one] = await openTwo()
    const delivery = await one.leaseOne()
    await one.settleAt(afterLeaseMs + 1, delivered(delivery))
    expect(await one.store.ledger()).toMatchObject({ delivered: 1 })
  })

  test('does not expire for the process that holds it', async () => {
    const [one, other] = await openTwo()
    const delivery = await one.leaseOne()
    expect(await claimAt(one, afterLeaseMs)).toEqual([])
    expect(await dueAt(one, afterLeaseMs)).toEqual([])
    expect(await claimAt(other, afterLeaseMs)).toMatchObject([{ id: delivery.id }])
  })

  test('of a process that died makes the delivery due once it expires', async () => {
    const [one, other] = await openTwo()
    await one.leaseOne()
    expect(await dueAt(other, afterLeaseMs - 1)).toEqual([])
    expect(await dueAt(other, afterLeaseMs)).toEqual([
      { destinationId: 'crm', lane: 'first', dueAtMs: nowMs },
    ])
  })

  test('is not confused with one of the same number from before a backup was restored', async () => {
    const url = await databases.newUrl()
    const one = await openAt(url)
    await one.add([event('m_1', 'crm')])
    const before = await one.claimOne('crm')
    const schema = schemaOf(url)
    await databases.query(`ALTER SEQUENCE ${schema}.evroute_holders RESTART`)
    const other = await openAt(url)
    expect(await claimAt(other, nowMs)).toEqual([])
    const [after] = await claimAt(other, afterLeaseMs)
    expect(await one.settle(ended('failed', before))).toEqual([])
    expect(await one.store.ledger()).toMatchObject({ failed: 0, pending: 1 })
    await other.settle(delivered(after!))
    expect(await one.store.ledger()).toMatchObject({ delivered: 1, pending: 0 })
  })

  test('lasts for leaseMs', async () => {
    const url = await databases.newUrl()
    const [one, other] = [await openAt(url, { leaseMs: 10 }), await openAt(url)]
    await one.leaseOne()
    expect(await claimAt(other, nowMs + 9)).toEqual([])
    expect(await claimAt(other, nowMs + 10)).toHaveLength(1)
  })
})
