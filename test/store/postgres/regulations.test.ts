import type { Client } from 'pg'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type { EraseResult } from '../../../src/privacy/index.ts'
import { openPostgresStore } from '../../../src/store/postgres/postgres-store.ts'
import { regulationStoreSuite } from '../../conformance/regulation-store.ts'
import {
  eventAbout,
  notificationAbout,
  RegulationsUnderTest,
  stream,
} from '../../conformance/regulation-store-under-test.ts'
import { delivered, nowMs, requestOf } from '../../conformance/store-under-test.ts'
import { findInPostgres } from '../../support/find-text.ts'
import { PostgresDatabases } from '../../support/postgres.ts'
import { connect, longId } from './store-calls.ts'

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })

const databases = new PostgresDatabases()

let suiteUrl = ''

regulationStoreSuite(
  'PostgresStore',
  async () => {
    suiteUrl = await databases.emptiedUrl()
    return openPostgresStore(suiteUrl)
  },
  (text) => findInPostgres(databases, suiteUrl, text),
)

async function opened(url: string): Promise<RegulationsUnderTest> {
  const tested = new RegulationsUnderTest(() => openPostgresStore(url))
  await tested.begin()
  onTestFinished(() => tested.all.close())
  return tested
}

/** Opens two stores on one database, which the database regards as two processes. */
async function openTwo(): Promise<readonly [RegulationsUnderTest, RegulationsUnderTest]> {
  const url = await databases.newUrl()
  return [await opened(url), await opened(url)]
}

/** Erases in one process until nothing is left, even while other processes erase. */
async function eraseAll(tested: RegulationsUnderTest, rowsMax: number): Promise<void> {
  let result: EraseResult = 'more'
  for (let turn = 0; turn < 1_000 && result !== 'nothing'; turn++) {
    result = await tested.all.regulations.erase({ id: 'r_1', nowMs, rowsMax })
  }
  expect(result).toBe('nothing')
}

const leaseEndsMs = nowMs + 60_000

describe('two processes', () => {
  test('drop the calls of a user at once if one of them suppresses the user', async () => {
    const [one, other] = await openTwo()
    await one.create('SUPPRESS_ONLY', ['u_1'], { id: 'r_1' })
    expect(await other.outcomes([eventAbout('u_1')])).toEqual(['suppressed'])
    await other.create('UNSUPPRESS', ['u_1'], { id: 'r_2' })
    expect(await one.outcomes([eventAbout('u_1')])).toEqual(['routed'])
  })

  test('add events while a regulation waits for a process that was suspended in an add', async () => {
    const url = await databases.newUrl()
    const tested = await opened(url)
    const suspended = await connect(url)
    await suspended.query('BEGIN; SELECT FROM evroute_gate FOR KEY SHARE')
    const created = tested.create('SUPPRESS_ONLY', ['u_1'], { id: 'r_1' })
    const waiting = `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%evroute_gate%'`
    await expect.poll(() => databases.query(waiting)).toHaveLength(1)
    expect(await tested.outcomes([eventAbout('u_1')])).toEqual(['routed'])
    await suspended.query('ROLLBACK')
    await created
    expect(await tested.outcomes([eventAbout('u_1')])).toEqual(['suppressed'])
  })

  test('leave no trace of a user whom one of them deletes while the other accepts calls', async () => {
    const [one, other] = await openTwo()
    const outcomes: string[] = []
    for (let round = 1; round <= 8; round++) {
      const userId = `u_${round}`
      const work = Array.from({ length: 24 }, (_, index) => {
        if (index !== 12) return one.outcomes([eventAbout(userId)])
        return other.create('SUPPRESS_WITH_DELETE', [userId], { id: userId }).then(() => [])
      })
      outcomes.push(...(await Promise.all(work)).flat())
      expect(await other.erase(userId)).toBe('nothing')
      expect(await one.list({ userId })).toEqual([])
    }
    const routed = outcomes.filter((outcome) => outcome === 'routed').length
    const ledger = { accepted: 8 * 23, routed, suppressed: 8 * 23 - routed, failed: routed }
    expect(await one.store.ledger()).toMatchObject({ ...ledger, pending: 0 })
    await other.expectBalance()
  })

  test('add no event while one of them stores a regulation, and apply it afterwards', async () => {
    const url = await databases.newUrl()
    const tested = await opened(url)
    const storing = await connect(url)
    await storing.query('BEGIN; LOCK TABLE evroute_gate IN EXCLUSIVE MODE')
    const added = tested.outcomes([eventAbout('u_1'), eventAbout('u_2')])
    await waitingFor(storing)
    await storing.query("INSERT INTO evroute_suppressions VALUES ('u_1', '')")
    await storing.query('COMMIT')
    expect(await added).toEqual(['suppressed', 'routed'])
  })

  test('store a regulation after the events that the other is writing', async () => {
    const url = await databases.newUrl()
    const tested = await opened(url)
    await tested.add([eventAbout('u_1')])
    const writing = await connect(url)
    await writing.query('BEGIN; SELECT FROM evroute_gate FOR KEY SHARE')
    const created = tested.create('DELETE_ONLY', ['u_1'], { id: 'r_1' })
    await waitingFor(writing)
    await writing.query(`
      INSERT INTO evroute_deliveries SELECT (jsonb_populate_record(delivery,
        jsonb_build_object('id', nextval('evroute_delivery_ids')))).*
      FROM evroute_deliveries delivery`)
    await writing.query('COMMIT')
    await created
    await tested.all.regulations.erase({ id: 'r_1', nowMs, rowsMax: 100 })
    expect(await tested.list({ userId: 'u_1' })).toEqual([])
  })

  test('add events while one of them writes notifications, and erase those events too', async () => {
    const url = await databases.newUrl()
    const [one, other] = [await opened(url), await opened(url)]
    const notifications = ['u_1', 'u_2'].map((userId) => notificationAbout(userId, { to: ['crm'] }))
    const { sourceId, messageId } = notifications[1]!
    const holding = await connect(url)
    await holding.query('BEGIN')
    await holding.query('INSERT INTO evroute_seen VALUES ($1, $2, 0)', [sourceId, messageId])
    const created = one.create('SUPPRESS_WITH_DELETE', ['u_1', 'u_2'], { id: 'r_1', notifications })
    await waitingFor(holding)
    expect(await other.outcomes([eventAbout('u_1'), eventAbout('u_3')])).toEqual([
      'routed',
      'routed',
    ])
    await holding.query('COMMIT')
    await created
    const streams = [stream('website', 'crm', { pending: 2 })]
    expect((await one.regulation('r_1')).streams).toEqual(streams)
    expect(await other.erase('r_1')).toBe('waiting')
    expect((await one.regulation('r_1')).erased).toMatchObject({ pending: 1 })
    await one.expectBalance()
    const claimed = await one.claim('crm')
    await one.settle(...claimed.map(delivered))
    expect(await other.erase('r_1')).toBe('nothing')
    expect(await one.list({ userId: 'u_1' })).toEqual([])
    expect(await one.list({ userId: 'u_3' })).toHaveLength(1)
  })

  test('erase for one regulation together, and count nothing twice', async () => {
    const [one, other] = await openTwo()
    for (let turn = 0; turn < 10; turn++) {
      await one.add([eventAbout('u_1', { to: ['ads', 'crm'] }), eventAbout('u_2')])
    }
    const [first] = await one.claim('crm', { deliveriesMax: 1 })
    await one.settle(delivered(first!))
    await one.create('DELETE_INTERNAL', ['u_1'], { id: 'r_1' })
    await Promise.all([eraseAll(one, 3), eraseAll(other, 2), eraseAll(one, 5), eraseAll(other, 1)])
    expect(await other.regulation('r_1')).toMatchObject({
      isStoreErased: true,
      erased: { pending: 19, settled: 1, members: 0 },
    })
    expect(await one.list({ userId: 'u_1' })).toEqual([])
    expect(await one.list({ userId: 'u_2' })).toHaveLength(10)
    await one.expectBalance()
  })

  test('wait while another process erases', async () => {
    const url = await databases.newUrl()
    const tested = await opened(url)
    await tested.add([eventAbout('u_1')])
    await tested.create('DELETE_INTERNAL', ['u_1'], { id: 'r_1' })
    const erasing = await connect(url)
    await erasing.query('BEGIN; SELECT FROM evroute_regulations FOR UPDATE')
    expect(await tested.erase('r_1')).toBe('waiting')
    await erasing.query('COMMIT')
    expect(await tested.erase('r_1')).toBe('nothing')
  })

  test('continue an erasure where the other one stopped', async () => {
    const [one, other] = await openTwo()
    await one.add(['u_1', 'u_2', 'u_1', 'u_1'].map((userId) => eventAbout(userId)))
    await one.create('DELETE_INTERNAL', ['u_1'], { id: 'r_1' })
    expect(await one.all.regulations.erase({ id: 'r_1', nowMs, rowsMax: 2 })).toBe('more')
    await one.all.close()
    expect(await other.erase('r_1', { rowsMax: 1 })).toBe('nothing')
    expect((await other.regulation('r_1')).erased.pending).toBe(3)
  })

  test('count the notifications of concurrently stored regulations separately', async () => {
    const [one, other] = await openTwo()
    const create = (tested: RegulationsUnderTest, id: string): Promise<string> =>
      tested.create('DELETE_ONLY', ['u_1', 'u_2'], {
        id,
        notifications: ['u_1', 'u_2'].map((userId) => notificationAbout(userId, { to: ['crm'] })),
      })
    const ids = ['a', 'b', 'c', 'd', 'e', 'f']
    await Promise.all([
      ...ids.map((id, index) => create(index % 2 === 0 ? one : other, id)),
      ...ids.map(() => one.add([eventAbout('u_3')])),
    ])
    for (const id of ids) {
      const streams = [stream('website', 'crm', { pending: 2 })]
      expect((await other.regulation(id)).streams).toEqual(streams)
    }
    const claimed = await one.claim('crm')
    await one.settle(...claimed.map(delivered))
    for (const id of ids) expect(await other.erase(id)).toBe('nothing')
    expect(await one.list({ userId: 'u_1' })).toEqual([])
    expect(await one.list({ userId: 'u_3' })).toHaveLength(6)
  })
})

describe('a delivery that another process has leased', () => {
  test('is erased once its lease expires, and a later settlement is ignored', async () => {
    const [one, other] = await openTwo()
    const delivery = await one.leaseAbout('u_1')
    await other.create('DELETE_INTERNAL', ['u_1'], { id: 'r_1' })
    expect(await other.erase('r_1', { atMs: leaseEndsMs - 1 })).toBe('waiting')
    expect(await other.story(delivery)).toMatchObject({ userId: 'u_1', body: delivery.body })
    // The lease does not expire for the process that holds it.
    expect(await one.erase('r_1', { atMs: leaseEndsMs })).toBe('waiting')
    expect(await other.erase('r_1', { atMs: leaseEndsMs })).toBe('nothing')
    const erased = { userId: null, body: '', state: 'failed', reason: 'erased' }
    expect(await other.story(delivery)).toMatchObject(erased)
    await one.log([requestOf(delivery, { excerpt: 'hello u_1' })], delivered(delivery))
    const story = await other.story(delivery)
    expect(story).toMatchObject({ ...erased, requests: [{ excerpt: '' }] })
    expect(await other.store.ledger()).toMatchObject({ failed: 1, delivered: 0, pending: 0 })
  })
})

describe('regulations in PostgreSQL', () => {
  test('can be read while a process carries them out', async () => {
    const url = await databases.newUrl()
    const tested = await opened(url)
    const log = await openPostgresStore(url, { access: 'write' })
    onTestFinished(() => log.close())
    await tested.add([eventAbout('u_1')])
    const notifications = [notificationAbout('u_1')]
    const id = await tested.create('DELETE_ONLY', ['u_1'], { notifications })
    expect(await tested.erase(id)).toBe('waiting')
    const [regulation] = await log.regulations.list({ limit: 10 })
    expect(regulation).toEqual(await tested.regulation(id))
    expect(await log.regulations.find({ id })).toEqual(regulation)
    expect(await log.retry({ nowMs, filter: {}, limit: 10 })).toMatchObject({ deliveries: 0 })
  })

  test('can contain userIds that are too long for an index', async () => {
    const tested = await opened(await databases.newUrl())
    const [one, other] = [longId('a'), longId('b')]
    const alias = eventAbout(other, { type: 'alias', previousId: one })
    await tested.add([eventAbout(one), eventAbout(other), alias])
    await tested.erase(await tested.create('SUPPRESS_WITH_DELETE', [one]))
    expect(await tested.list({ userId: one })).toEqual([])
    expect(await tested.list({ userId: other })).toHaveLength(1)
    expect(await tested.outcomes([eventAbout(one), eventAbout(other)])).toEqual([
      'suppressed',
      'routed',
    ])
  })

  test('drop only the events of their users from a batch, even if others have the same messageId', async () => {
    const tested = await opened(await databases.newUrl())
    await tested.create('SUPPRESS_ONLY', ['u_1'])
    const events = ['u_1', 'u_2', 'u_1', 'u_3'].map((userId) =>
      eventAbout(userId, { messageId: 'm', to: ['crm', 'ads'] }),
    )
    const room = [{ destinationId: 'crm', deliveriesMax: 9 }]
    const { outcomes, leased } = await tested.add(events, { handOver: room })
    expect(outcomes).toEqual(['suppressed', 'routed', 'suppressed', 'duplicate'])
    expect(leased.map(({ body }) => body)).toEqual([events[1]!.deliveries[0]!.body])
    expect(await tested.store.ledger()).toMatchObject({ accepted: 4, suppressed: 2, duplicate: 1 })
  })

  test('vacuum the tables that contained the users', async () => {
    const url = await databases.newUrl()
    const tested = await opened(url)
    await tested.settle(delivered(await tested.leaseAbout('u_1')))
    expect(await tested.erase(await tested.create('DELETE_INTERNAL', ['u_1']))).toBe('nothing')
    const client = await connect(url)
    const vacuumed = async (): Promise<readonly string[]> => {
      const { rows } = await client.query<{ relname: string }>(`
        SELECT relname FROM pg_stat_user_tables
        WHERE schemaname = current_schema AND vacuum_count > 0 ORDER BY relname`)
      return rows.map(({ relname }) => relname.replace('evroute_', ''))
    }
    // Statistics come with a delay before PostgreSQL 15.
    const names = ['deliveries', 'members', 'messages', 'seen']
    await vi.waitFor(async () => expect(await vacuumed()).toEqual(names), { timeout: 10_000 })
  })
})

/** Resolves once another connection waits for a lock of this client. */
async function waitingFor(client: Client): Promise<void> {
  const sql = `SELECT 1 FROM pg_locks
    WHERE NOT granted AND pg_backend_pid() = ANY (pg_blocking_pids(pid))`
  for (;;) {
    const { rows } = await client.query(sql)
    if (rows.length > 0) return
  }
}
