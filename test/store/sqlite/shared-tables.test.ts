import { readFile, writeFile } from 'node:fs/promises'
import { gunzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import type { Member } from '../../../src/audience/index.ts'
import { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts'
import { newPath } from './store-calls.ts'

const nowMs = 1_700_000_001_000

/** A store out of a file that the version before the shared tables made. */
async function openOlderStore(): Promise<SqliteStore> {
  const path = await newPath()
  const packed = await readFile(new URL('version-8.db.gz', import.meta.url))
  await writeFile(path, gunzipSync(packed))
  return SqliteStore.open(path)
}

/** The members that the older version wrote. */
const members = [
  ['u_1', null, null],
  ['u_2', 'a_2', 'b@example.com'],
  [null, 'a_3', null],
  ['', 'a_4', null],
  ['\u0000\ud800', null, null],
  ['\u001a', null, null],
].map(([userId = null, anonymousId = null, email = null], place): Member => {
  return { identity: { userId, anonymousId, email }, value: `v${place}` }
})

test('members of an older file are found again, whatever their identifiers', async () => {
  const store = await openOlderStore()
  const { audiences } = store
  const found = await audiences.members({ key: 'vip', limit: 10, after: null })
  expect(found).toHaveLength(6)
  expect(found).toEqual(expect.arrayContaining(members))
  const [vip] = await audiences.list()
  const begun = await audiences.begin({ audience: vip!, nowMs })
  if (begun.kind !== 'begun') throw new Error('the key is taken')
  const { sync } = begun
  const request = { key: 'vip', sync, nowMs, seenSinceMs: 0, eventsOf: () => [] }
  const taken = await audiences.take({ ...request, members })
  // The user is suppressed since.
  const outcomes = ['suppressed', ...Array<string>(5).fill('unchanged')]
  expect(taken).toEqual({ kind: 'taken', outcomes })
  const released = await audiences.release({ ...request, rowsMax: 10, after: null })
  expect(released).toEqual({ kind: 'released', left: [], next: null })
  await store.close()
})

test('an erasure that was under way in an older file goes on to its end', async () => {
  const store = await openOlderStore()
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
  const left = await store.list({ filter: { userId: 'u_1' }, limit: 10 })
  expect(left.map(({ type }) => type)).toEqual(['delete'])
  await store.close()
})
