import { readFile } from 'node:fs/promises'
import { beforeEach, expect, test } from 'vitest'
import type { Member } from '../../../src/audience/index.ts'
import { lineLog } from '../../../src/runtime/index.ts'
import { openStore } from '../../../src/store/index.ts'
import { openDatabase } from '../../../src/store/sqlite/database.ts'
import { migrate, type UpgradeProgress } from '../../../src/store/sqlite/schema.ts'
import { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts'
import { event } from '../../conformance/store-under-test.ts'
import { makeOlderStore, rowsOf } from './older-store.ts'
import { claim, newPath, openStore as openFile } from './store-calls.ts'

const nowMs = 1_700_000_001_000

let path = ''
beforeEach(async () => {
  path = await newPath()
})

test('the upgrade of a file reports its progress after every statement', async () => {
  await makeOlderStore(path)
  const reported: UpgradeProgress[] = []
  const upgrade = { onProgress: (progress: UpgradeProgress) => reported.push(progress) }
  await (await SqliteStore.open(path, undefined, upgrade)).close()
  expect(reported.length).toBeGreaterThan(10)
  expect(reported.map(({ done }) => done)).toEqual(reported.map((_, index) => index))
  expect(new Set(reported.map(({ total }) => total))).toEqual(new Set([reported.length - 1]))
  expect(reported[0]).toMatchObject({ file: path, bytes: expect.any(Number) as number })
  reported.length = 0
  await (await SqliteStore.open(path, undefined, upgrade)).close()
  expect(reported).toEqual([])
})

test.each([true, false])('opening a file logs its upgrade (own thread: %s)', async (ownThread) => {
  await makeOlderStore(path)
  const lines: string[] = []
  const log = lineLog((line) => lines.push(line))
  await (await openStore(`sqlite:${path}`, { ownThread, log })).close()
  expect(lines[0]).toMatch(/^warn upgrading the store file=.* megabytes=1 done=0 total=\d+\n$/)
  expect(lines.at(-1)).toMatch(/^warn upgraded the store file=.* seconds=\d+\n$/)
  lines.length = 0
  await (await openStore(`sqlite:${path}`, { ownThread, log })).close()
  await (await openStore(`sqlite:${path}-new`, { ownThread, log })).close()
  expect(lines).toEqual([])
})

test('an upgrade without enough room says how much it needs, and does not change the file', async () => {
  await makeOlderStore(path)
  const before = await readFile(path)
  const database = await openDatabase(path, 'write')
  expect(() => migrate(database, path, { freeBytes: () => 10_000 })).toThrow(
    `Cannot upgrade the store ${path}: the upgrade temporarily needs about 1 MB, but only 1 MB are free`,
  )
  database.close()
  expect((await readFile(path)).equals(before)).toBe(true)
  await (await SqliteStore.open(path)).close()
})

test('an upgraded file has the tables, columns and indexes of a new one', async () => {
  await makeOlderStore(path)
  await (await SqliteStore.open(path)).close()
  await (await SqliteStore.open(`${path}-new`)).close()
  const columns = `SELECT t.name AS "table", c.* FROM sqlite_schema t, pragma_table_info(t.name) c
    WHERE t.type = 'table' ORDER BY t.name, c.cid`
  const indexes = `SELECT name, tbl_name, replace(replace(sql, ' ', ''), char(10), '') AS sql
    FROM sqlite_schema WHERE type = 'index' ORDER BY name`
  for (const sql of [columns, indexes]) {
    expect(await rowsOf(path, sql)).toEqual(await rowsOf(`${path}-new`, sql))
  }
})

test('a file of format 11 gets the newer columns, even without room for a copy', async () => {
  await (await SqliteStore.open(path)).close()
  const before = await openDatabase(path, 'write')
  before.exec('ALTER TABLE deliveries DROP COLUMN traceparent; PRAGMA user_version = 11')
  migrate(before, path, { freeBytes: () => 0 })
  before.close()
  const columns = "SELECT name FROM pragma_table_info('deliveries')"
  expect(await rowsOf(path, columns)).toContainEqual({ name: 'traceparent' })
})

test('a file of a version that is too old is refused and not changed', async () => {
  await makeOlderStore(path)
  const database = await openDatabase(path, 'write')
  database.exec('PRAGMA user_version = 7')
  database.close()
  await expect(SqliteStore.open(path)).rejects.toMatchObject({
    code: 'store_unusable',
    message: `Cannot use the store ${path}: it was created by a version of evroute that is too old`,
    hint: 'Name a different file. This one has format 7; evroute upgrades format 8 and later.',
  })
  expect(await rowsOf(path, 'PRAGMA user_version')).toEqual([{ user_version: 7 }])
})

test('deliveries of an older file can be claimed, recognised as duplicates, and audited', async () => {
  await makeOlderStore(path)
  const store = await openFile(path)
  const claimed = await claim(store)
  expect(claimed.length).toBeGreaterThan(0)
  const seen = { ...event(claimed[0]!.messageId, 'crm'), userId: 'u_unknown' }
  const { outcomes } = await store.add({ nowMs, seenSinceMs: 0, events: [seen], handOver: [] })
  expect(outcomes).toEqual(['duplicate'])
  const audit = await store.audit()
  expect(audit).toMatchObject({ withoutBody: 0 })
  const { ledger, counted } = audit
  expect(counted).toEqual({
    pending: ledger.pending,
    delivered: ledger.delivered,
    failed: ledger.failed,
    expired: ledger.expired,
  })
})

/** The members that the older version wrote. */
const members = [
  ['u_1', null, null],
  ['u_2', 'a_2', 'b@example.com'],
  [null, 'a_3', null],
  ['', 'a_4', null],
  ['\u0000\ud800', null, null],
  ['\u001a', null, null],
].map(([userId = null, anonymousId = null, email = null], index): Member => {
  return { identity: { userId, anonymousId, email }, value: `v${index}` }
})

test('members of an older file are recognised, whatever their identifiers', async () => {
  await makeOlderStore(path)
  const store = await openFile(path)
  const { audiences } = store
  const found = await audiences.members({ key: 'vip', limit: 10, after: null })
  expect(found).toHaveLength(6)
  expect(found).toEqual(expect.arrayContaining(members))
  const [vip] = await audiences.list()
  const begun = await audiences.begin({ audience: vip!, nowMs })
  if (begun.kind !== 'begun') throw new Error('the key is taken')
  const { sync } = begun
  const plan = { changes: [], events: [] }
  const request = { key: 'vip', sync, nowMs, seenSinceMs: 0, plan }
  const taken = await audiences.take({ ...request, members })
  // This user was suppressed after it became a member.
  const outcomes = ['suppressed', ...Array<string>(5).fill('unchanged')]
  expect(taken).toEqual({ kind: 'taken', outcomes })
  const released = await audiences.release({ ...request, rowsMax: 10, after: null })
  expect(released).toEqual({ kind: 'released', left: [], next: null })
})

test('an erasure in progress in an older file is completed', async () => {
  await makeOlderStore(path)
  // The version that wrote the file keeps an id here. A later version keeps a destination.
  const database = await openDatabase(path, 'write')
  database.exec("UPDATE regulations SET at_key = 'zendesk' WHERE stage = 'deliveries'")
  database.close()
  const store = await openFile(path)
  const { regulations } = store
  const erase = () => regulations.erase({ id: 'r_1', nowMs, rowsMax: 1 })
  let steps = 0
  while ((await erase()) === 'more') steps++
  expect(steps).toBeGreaterThan(2)
  expect(await regulations.find({ id: 'r_1' })).toMatchObject({
    userIds: ['u_1', 'u_9'],
    erased: { pending: 1, settled: 1, members: 1 },
    streams: [{ destinationId: 'crm', pending: 1 }],
  })
  const remaining = await store.list({ filter: { userId: 'u_1' }, limit: 10 })
  expect(remaining.map(({ type }) => type)).toEqual(['delete'])
})
