import { expect, onTestFinished, test } from 'vitest'
import { audienceTables } from '../../../src/store/sqlite/audience-tables.ts'
import { openDatabase } from '../../../src/store/sqlite/database.ts'
import { moveTables } from '../../../src/store/sqlite/move-tables.ts'
import { regulationTables } from '../../../src/store/sqlite/regulation-tables.ts'
import { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts'
import { nowMs } from '../../conformance/store-under-test.ts'
import { firstTables } from './first-tables.ts'
import { claim, newPath } from './store-calls.ts'

const columns = `id, destination_id, source_id, message_id, type, user_id, previous_id, body_id, state,
  lane, accepted_at, due_at, attempts, window_attempts, holds, settled_at, manual_retries`

/** What the version before had in a file, with an erasure that has been through the deliveries to `ads`. */
const content = `
  INSERT INTO messages VALUES (1, 2, '{"n":1}'), (2, 1, '{"n":2}'), (3, 2, '{"n":3}');
  INSERT INTO deliveries (${columns}) VALUES
    (1, 'ads', 'website', 'm_1', 'track', 'u_1', NULL, 1, 'delivered', 'first', 1, 1, 1, 1, '[]', 7, 0),
    (2, 'crm', 'website', 'm_1', 'track', 'u_1', NULL, 1, 'pending', 'first', 1, 1, 0, 0, '[]', NULL, 0),
    (3, 'ads', 'website', 'm_2', 'alias', 'u_2', 'u_0', 2, 'failed', 'retry', 2, 5, 2, 2, '[]', 8, 1),
    (4, 'crm', 'website', 'm_3', 'track', 'u_3', NULL, 3, 'pending', 'first', 3, 3, 0, 0, '[]', NULL, 0),
    (5, 'ads', 'website', 'm_3', 'track', NULL, NULL, 3, 'expired', 'first', 3, 3, 0, 0, '[]', 9, 0);
  INSERT INTO requests VALUES
    ('ads', 1, 1, 1, 'first', 'https://example.com/', 6, 1.5, 'success', 200, NULL, 'ok'),
    ('ads', 3, 1, 1, 'first', 'https://example.com/', 3, 1, 'retry', 503, NULL, 'busy'),
    ('ads', 3, 2, 2, 'retry', 'https://example.com/', 8, 2, 'final', NULL, 'no such host', '');
  INSERT INTO counts VALUES ('', 'accepted', 3), ('', 'routed', 3), ('', 'ids', 5),
    ('ads', 'deliveries', 3), ('ads', 'delivered', 1), ('ads', 'failed', 1), ('ads', 'expired', 1),
    ('crm', 'deliveries', 2), ('crm', 'pending', 2);
  INSERT INTO regulations VALUES (1, 'r_1', 'DELETE_INTERNAL', NULL, 9, NULL, 5, 5, 'deliveries', 'ads',
    5, 0, 0, 1, 0, NULL, '[]');
  INSERT INTO regulation_users VALUES (1, 'u_3', 1);
  PRAGMA application_id = 0x65767274; PRAGMA user_version = 4;
`

async function openUpgraded(): Promise<SqliteStore> {
  const path = await newPath()
  const before = await openDatabase(path)
  before.exec(`${firstTables}; ${regulationTables}; ${audienceTables}; ${moveTables}; ${content}`)
  before.close()
  const store = await SqliteStore.open(path)
  onTestFinished(() => store.close())
  return store
}

test('a file of the version before keeps its deliveries and their requests', async () => {
  const store = await openUpgraded()
  const listed = await store.list({ filter: {}, limit: 10 })
  expect(listed.map(({ id, destinationId, state }) => [id, destinationId, state])).toEqual([
    [5, 'ads', 'expired'],
    [4, 'crm', 'pending'],
    [3, 'ads', 'failed'],
    [2, 'crm', 'pending'],
    [1, 'ads', 'delivered'],
  ])
  expect(await store.story({ destinationId: 'ads', id: 3 })).toMatchObject({
    messageId: 'm_2',
    type: 'alias',
    userId: 'u_2',
    body: '{"n":2}',
    attempts: 2,
    settledAtMs: 8,
    manualRetries: 1,
    requests: [
      { atMs: 3, durationMs: 1, outcome: 'retry', status: 503, error: null, excerpt: 'busy' },
      { atMs: 8, durationMs: 2, outcome: 'final', status: null, error: 'no such host' },
    ],
  })
  expect(await claim(store)).toMatchObject([
    { id: 2, messageId: 'm_1', body: '{"n":1}' },
    { id: 4, messageId: 'm_3', body: '{"n":3}' },
  ])
  expect(await store.retry({ nowMs, filter: { destinationId: 'ads' }, limit: 10 })).toBe(2)
  expect(await store.audit()).toMatchObject({
    ledger: { deliveries: 5, pending: 4, delivered: 1, failed: 0, expired: 0 },
    counted: { pending: 4, delivered: 1, failed: 0, expired: 0 },
    withoutBody: 0,
  })
})

test('an erasure that was under way in it leaves nobody out', async () => {
  const store = await openUpgraded()
  for (let step = 0; step < 20; step++) {
    await store.regulations.erase({ id: 'r_1', nowMs, rowsMax: 100 })
  }
  expect(await store.regulations.find({ id: 'r_1' })).toMatchObject({
    isStoreErased: true,
    erased: { pending: 1, settled: 1 },
  })
  expect(await store.list({ filter: { userId: 'u_3' }, limit: 10 })).toEqual([])
  expect(await store.story({ destinationId: 'crm', id: 4 })).toMatchObject({ state: 'failed' })
})
