import { beforeEach, expect, test } from 'vitest'
import type { DeliveryFilter } from '../../../src/delivery/index.ts'
import { openDatabase, type Database } from '../../../src/store/sqlite/database.ts'
import { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts'
import { beginSync, member, vip } from '../../conformance/audience-store-under-test.ts'
import { delivered, event, keepAll, nowMs, requestOf } from '../../conformance/store-under-test.ts'
import { claim, newPath, withMethods } from './store-calls.ts'

const destinationIds = ['crm', ...Array.from({ length: 9 }, (_, index) => `lake-${index}`)]

let plans: ReadonlyMap<string, readonly string[]> = new Map()
beforeEach(async () => {
  plans = await plansOfStore()
})

/** Returns SQLite's plan of each statement of a store, after ANALYZE. */
async function plansOfStore(): Promise<ReadonlyMap<string, readonly string[]>> {
  const path = await newPath()
  const compiled = new Set<string>()
  const store = await SqliteStore.open(path, async (name) =>
    recording(await openDatabase(name), compiled),
  )
  const events = destinationIds.flatMap((destinationId) =>
    Array.from({ length: 100 }, (_, index) => event(`${destinationId} ${index}`, destinationId)),
  )
  const erased = Array.from({ length: 20 }, (_, index) => ({
    ...event(`erased ${index}`, 'crm'),
    userId: 'u_2',
  }))
  await store.add({ nowMs, seenSinceMs: 0, events: [...events, ...erased], handOver: [] })
  const settled = await claim(store)
  await store.settle({
    nowMs,
    settlements: settled.map((each) => delivered(each)),
    requests: settled.map((each) => requestOf(each)),
  })
  const filters: readonly DeliveryFilter[] = [
    {},
    { destinationId: 'crm' },
    { destinationId: 'crm', id: 1 },
    { messageId: 'crm 1', destinationId: 'crm', states: ['failed'] },
    { userId: 'u_1', states: ['failed'] },
  ]
  for (const filter of filters) {
    await store.list({ filter, limit: 10 })
    await store.retry({ nowMs, filter, limit: 10 })
    const after = { range: 0, destinationId: 'crm', atMs: 1 }
    await store.retry({ nowMs, filter, limit: 10, after })
  }
  await store.discard({ nowMs: 0, filter: {}, limit: 10 })
  await store.purge(keepAll)
  await store.audit()
  await syncAudience(store)
  await eraseUser(store, 'u_2')
  await store.close()
  const database = await openDatabase(path, 'write')
  database.exec('ANALYZE')
  const found = [...compiled]
    .filter((sql) => /^\s*(SELECT|UPDATE|DELETE|INSERT|WITH)\b/.test(sql))
    .map((sql) => [withoutNumbers(sql), planOf(database, sql)] as const)
  database.close()
  return new Map(found)
}

/** Makes 400 members enter, then all but one leave. */
async function syncAudience(store: SqliteStore): Promise<void> {
  const all = Array.from({ length: 400 }, (_, index) => member(`u_${index + 1}`))
  for (const listed of [all, all.slice(0, 1)]) {
    const sync = await beginSync(store, vip, { nowMs, eventOf: () => event('m_1') })
    await sync.take(...listed)
    await sync.release({ rowsMax: 1_000 })
  }
}

async function eraseUser({ regulations }: SqliteStore, userId: string): Promise<void> {
  const regulation = { id: 'r_1', type: 'DELETE_ONLY', userIds: [userId], sourceIds: null } as const
  await regulations.create({ regulation, notifications: [], nowMs })
  while ((await regulations.erase({ id: 'r_1', nowMs, rowsMax: 1_000 })) === 'more');
  expect(await regulations.find({ id: 'r_1' })).toMatchObject({ isStoreErased: true })
}

/** Records every compiled statement. */
function recording(database: Database, compiled: Set<string>): Database {
  return withMethods(database, {
    prepare: (sql) => {
      compiled.add(sql)
      return database.prepare(sql)
    },
  })
}

/** A statement on one line, with all placeholders as `?`. */
function withoutNumbers(sql: string): string {
  return sql.replaceAll(/\s+/g, ' ').replaceAll(/\?\d+/g, '?').trim()
}

function planOf(database: Database, sql: string): readonly string[] {
  const steps = database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all()
  return (steps as readonly { readonly detail: string }[]).map(({ detail }) => detail)
}

function planFor(beginning: string): readonly string[] | undefined {
  return [...plans].find(([sql]) => sql.includes(beginning))?.[1]
}

test('only the counts of the audit read every row of a table', () => {
  const scanned = [...plans].filter(([, plan]) =>
    plan.some((step) =>
      /^SCAN (deliveries|delivery|requests|messages|message|seen|members)\b/.test(step),
    ),
  )
  const counts = ['pending', 'delivered', 'failed', 'expired'].map(
    (state) => expect.stringMatching(`^SELECT count.* AND state = '${state}'$`) as string,
  )
  expect(scanned.map(([sql]) => sql)).toEqual(counts)
})

test.each([
  ["WHERE state = 'delivered' AND settled_at < ?", 'INDEX deliveries_delivered (settled_at<?)'],
  [
    "(state = 'failed' OR state = 'expired') AND settled_at < ?",
    'INDEX deliveries_ended (settled_at<?)',
  ],
  [
    "lane = 'manual' AND state = 'pending' AND due_at < ?",
    'INDEX deliveries_waiting (destination_id=? AND lane=? AND due_at<?)',
  ],
  [
    'ORDER BY due_at, deliveries.id LIMIT ?',
    'INDEX deliveries_waiting (destination_id=? AND lane=? AND due_at<?)',
  ],
  [
    "state = 'failed' AND state <> 'pending' AND settled_at <= ?",
    'INDEX deliveries_failed (destination_id=? AND state=? AND settled_at<?)',
  ],
  [
    "lane = 'retry' AND state = 'pending'",
    'INDEX deliveries_waiting (destination_id=? AND lane=?)',
  ],
  [
    "lane = 'first' AND state = 'pending' AND accepted_at <= ?",
    'INDEX deliveries_waiting (destination_id=? AND lane=?)',
  ],
  [
    'AND destination.destination_id >= ? AND delivery.settled_at >= CASE',
    'INDEX deliveries_failed (destination_id=? AND state=? AND settled_at>? AND settled_at<?)',
  ],
  ["state = 'pending' AND expires_at < ?", 'INDEX deliveries_expiring (expires_at<?)'],
  [
    'id BETWEEN ? AND ? AND destination_id = ? ORDER BY id DESC',
    'INDEX deliveries_listed (destination_id=? AND id>? AND id<?)',
  ],
  ['id BETWEEN ? AND ? ORDER BY id DESC', 'INTEGER PRIMARY KEY (rowid>? AND rowid<?)'],
  [
    'INDEXED BY deliveries_by_message',
    'INDEX deliveries_by_message (<expr>=? AND message_id=? AND rowid>? AND rowid<?)',
  ],
  [
    'INDEXED BY deliveries_by_user',
    'INDEX deliveries_by_user (<expr>=? AND user_id=? AND rowid>? AND rowid<?)',
  ],
  ["true AND state = 'delivered'", 'COVERING INDEX deliveries_delivered'],
  ['AND messages.id IS NULL', 'INTEGER PRIMARY KEY (rowid>? AND rowid<?)'],
  [
    'WHERE destination_id = ? AND id > ? AND id <= ? ORDER BY id',
    'INDEX deliveries_listed (destination_id=? AND id>? AND id<?)',
  ],
  ['UPDATE deliveries AS delivery', 'SEARCH delivery USING INTEGER PRIMARY KEY (rowid=?)'],
  ['UPDATE requests SET', 'SEARCH requests USING PRIMARY KEY (delivery_id=?)'],
  ['RETURNING audience_id', 'PRIMARY KEY (audience_id=? AND user_key=?)'],
  ['AND (user_key, member_key) IN', 'PRIMARY KEY (audience_id=? AND user_key=? AND member_key=?)'],
])('%s uses its key or index, without sorting', (sql, found) => {
  const plan = planFor(sql)?.join('; ')
  expect(plan).toContain(found)
  expect(plan).not.toContain('TEMP B-TREE')
})
