import type { Client } from 'pg'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type { Member, MembershipChange } from '../../../src/audience/index.ts'
import type { NewEvent } from '../../../src/delivery/index.ts'
import {
  openPostgresStore,
  type PostgresStoreOptions,
} from '../../../src/store/postgres/postgres-store.ts'
import { audienceStoreSuite } from '../../conformance/audience-store.ts'
import {
  AudiencesUnderTest,
  identity,
  inOrder,
  leaver,
  member,
  memberWith,
  vip,
} from '../../conformance/audience-store-under-test.ts'
import { PostgresDatabases } from '../../support/postgres.ts'
import { connect, longId } from './store-calls.ts'

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })

const databases = new PostgresDatabases()

audienceStoreSuite('PostgresStore', async () => openPostgresStore(await databases.emptiedUrl()))

async function opened(url: string, options?: PostgresStoreOptions): Promise<AudiencesUnderTest> {
  const tested = new AudiencesUnderTest(() => openPostgresStore(url, options))
  await tested.begin()
  onTestFinished(() => tested.store.close())
  return tested
}

/** Opens two stores on one database, which the database regards as two processes. */
async function openTwo(): Promise<readonly [AudiencesUnderTest, AudiencesUnderTest]> {
  const url = await databases.newUrl()
  return [await opened(url), await opened(url)]
}

const superseded = { kind: 'superseded' }

describe('two processes', () => {
  test('continue only the sync of an audience that began last, in either process', async () => {
    const [one, other] = await openTwo()
    await one.sync([member('a')])
    const first = await one.beginSync()
    await first.take(member('b'))
    await one.calls()
    const second = await other.beginSync()
    expect(await first.tryTake(member('c'))).toEqual(superseded)
    expect(await first.release()).toEqual(superseded)
    expect(await second.take(member('b'))).toEqual(['unchanged'])
    const third = await one.beginSync()
    expect(await second.release()).toEqual(superseded)
    expect(await first.tryTake(member('c'))).toEqual(superseded)
    expect(await third.take(member('b'))).toEqual(['unchanged'])
    expect(await third.finish()).toEqual([identity({ userId: 'a' })])
    expect(await other.calls()).toEqual([leaver('a')])
    expect(await other.members()).toEqual(await one.members())
  })

  test('supersede the sync of an audience that one of them removes or creates again', async () => {
    const [one, other] = await openTwo()
    const sync = await one.beginSync()
    await sync.take(member('a'))
    expect(await other.store.audiences.remove({ key: 'vip' })).toBe(true)
    expect(await sync.tryTake(member('b'))).toEqual(superseded)
    const before = await one.beginSync()
    await other.store.audiences.remove({ key: 'vip' })
    await other.sync([member('c')])
    expect(await before.tryTake(member('b'))).toEqual(superseded)
    expect(await before.release()).toEqual(superseded)
    expect(await one.members()).toEqual([member('c')])
  })

  test('that sync one audience concurrently send calls that lead to its final members', async () => {
    const [one, other] = await openTwo()
    const lists = ['1', '2', 'true'].map((value) =>
      ['a', 'b', 'c', value].map((userId) => member(userId, value)),
    )
    const eventOf = (change: MembershipChange): NewEvent => one.eventOf(change, vip, ['crm'])
    async function syncAll(tested: AudiencesUnderTest): Promise<void> {
      for (const list of [...lists, ...lists.toReversed()]) {
        const sync = await tested.beginSync({ eventOf })
        for (const each of list) await sync.tryTake(each)
        await sync.release()
      }
    }
    await Promise.all([syncAll(one), syncAll(other)])
    const current = new Map<string, Member>()
    for (const { identity: whose, value } of await one.calls()) {
      if (value === null) current.delete(JSON.stringify(whose))
      else current.set(JSON.stringify(whose), { identity: whose, value })
    }
    expect(inOrder([...current.values()])).toEqual(await other.members())
    expect(await one.audience()).toMatchObject({ members: current.size })
  })

  test('sync different audiences concurrently, and keep the ledger consistent', async () => {
    const [one, other] = await openTwo()
    const syncs = await Promise.all([
      one.beginSync({ audience: { key: 'one', sourceId: 'website' } }),
      other.beginSync({ audience: { key: 'other', sourceId: 'app' } }),
    ])
    const parts = Array.from({ length: 12 }, (_, part) =>
      Array.from({ length: 5 }, (_each, index) => member(`u_${part * 5 + index}`)),
    )
    await Promise.all(parts.flatMap((part) => syncs.map((sync) => sync.take(...part))))
    await Promise.all(syncs.map((sync) => sync.finish(7)))
    expect(await one.audience('one')).toMatchObject({ members: 60 })
    expect(await one.audience('other')).toMatchObject({ members: 60 })
    expect(await other.store.ledger()).toMatchObject({ accepted: 120, routed: 120, pending: 120 })
    const { counted } = await one.store.audit()
    expect(counted.pending).toBe(120)
  })

  test('notify each other of calls to claim', async () => {
    const url = await databases.newUrl()
    const waiting: (() => void)[] = []
    const notification = (): Promise<void> => new Promise((resolve) => waiting.push(resolve))
    const listening = notification()
    await opened(url, { onNotification: () => waiting.splice(0).forEach((resolve) => resolve()) })
    await listening
    const other = await opened(url)
    const sync = await other.beginSync()
    const entered = notification()
    await sync.take(member('a'))
    await entered
    const next = await other.beginSync()
    const notified = notification()
    await next.finish()
    await notified
  })
})

describe('audiences in PostgreSQL', () => {
  test('can be read while a process syncs them', async () => {
    const url = await databases.newUrl()
    const tested = await opened(url)
    const log = await openPostgresStore(url, { access: 'read' })
    onTestFinished(() => log.close())
    expect(await log.audiences.list()).toEqual([])
    await tested.sync([member('a', '1'), member('\0b', '"\ud800"')])
    expect(await log.audiences.list()).toEqual(await tested.store.audiences.list())
    const page = { key: 'vip', limit: 9, after: null }
    expect(await log.audiences.members(page)).toEqual(await tested.store.audiences.members(page))
  })

  test('can have members whose identifiers are too long for an index', async () => {
    const tested = await opened(await databases.newUrl())
    const list = [
      memberWith({ userId: longId('a'), anonymousId: longId('b') }),
      member(longId('c')),
    ]
    await tested.sync(list)
    expect(await tested.members()).toEqual(inOrder(list))
    const sync = await tested.beginSync()
    expect(await sync.take(list[1]!)).toEqual(['unchanged'])
    expect(await sync.finish()).toEqual([list[0]!.identity])
  })

  test('send the changes of a part even if its users are suppressed meanwhile', async () => {
    const url = await databases.newUrl()
    const [one, other] = [await opened(url), await opened(url)]
    const client = await connect(url)
    const sync = await one.beginSync()
    // Stops the part after it has read the suppressed users and before it adds the calls.
    await client.query('BEGIN; LOCK TABLE evroute_members IN SHARE MODE')
    const taken = sync.take(member('a'))
    await waitForLock(client, 'evroute_members')
    const suppressed = other.suppress('r_1', 'a')
    await Promise.race([suppressed, waitForLock(client, 'evroute_gate')])
    await client.query('COMMIT')
    expect(await taken).toEqual(['entered'])
    await suppressed
    expect(await one.store.ledger()).toMatchObject({ routed: 1, suppressed: 0 })
    expect(await sync.take(member('a', '2'))).toEqual(['suppressed'])
    expect(await one.calls()).toEqual([member('a')])
  })
})

/** Resolves once a connection waits for a lock of a table. */
async function waitForLock(client: Client, table: string): Promise<void> {
  const sql = 'SELECT 1 FROM pg_locks WHERE NOT granted AND relation = $1::regclass'
  for (;;) {
    const { rows } = await client.query(sql, [table])
    if (rows.length > 0) return
  }
}
