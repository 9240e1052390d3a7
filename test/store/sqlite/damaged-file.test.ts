import { readFile, writeFile } from 'node:fs/promises'
import { beforeEach, describe, expect, test } from 'vitest'
import type { LeasedDelivery } from '../../../src/delivery/index.ts'
import { openDatabase } from '../../../src/store/sqlite/database.ts'
import { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts'
import { isBusy } from '../../../src/store/sqlite/store-error.ts'
import { delivered, event, nowMs, requestOf } from '../../conformance/store-under-test.ts'
import { runSource } from '../../support/run-source.ts'
import { add, claim, longEvent, newPath, openStore } from './store-calls.ts'

let path = ''
beforeEach(async () => {
  path = await newPath()
})

/** Creates a store with 20 deliveries, and closes it. */
async function fillStore(): Promise<void> {
  const store = await SqliteStore.open(path)
  const events = Array.from({ length: 20 }, (_, index) => longEvent(`m_${index}`, 2_000))
  await store.add({ nowMs, seenSinceMs: 0, events, handOver: [] })
  await store.close()
}

/** Overwrites the root page of a table or an index. */
async function damagePageOf(name: string): Promise<void> {
  const database = await openDatabase(path, 'read')
  const found = database.prepare('SELECT rootpage FROM sqlite_schema WHERE name = ?').get(name)
  const size = database.prepare('PRAGMA page_size').get()
  database.close()
  const { rootpage } = found as { readonly rootpage: number }
  const { page_size: pageBytes } = size as { readonly page_size: number }
  const bytes = await readFile(path)
  await writeFile(path, bytes.fill(0xff, (rootpage - 1) * pageBytes, rootpage * pageBytes))
}

async function change(sql: string): Promise<void> {
  const database = await openDatabase(path, 'write')
  database.exec(sql)
  database.close()
}

const damaged = (why: string) => ({
  name: 'StoreUnusableError',
  code: 'store_unusable',
  message: `Cannot use the store ${path}: ${why}`,
  hint: 'Check the disk, and start again. If the file is still damaged, restore it from a backup, or name a different file.',
})

function settle(store: SqliteStore, deliveries: readonly LeasedDelivery[]): Promise<unknown> {
  const settlements = deliveries.map((delivery) => delivered(delivery))
  return store.settle({ nowMs, settlements, requests: deliveries.map((each) => requestOf(each)) })
}

describe('a store whose pages were damaged before it was opened', () => {
  const calls: readonly (readonly [string, string, (store: SqliteStore) => Promise<unknown>])[] = [
    ['add', 'seen', (store) => add(store, 'm_new')],
    ['add', 'messages', (store) => add(store, 'm_new')],
    ['claim', 'deliveries_waiting', (store) => claim(store)],
    ['claim', 'deliveries', (store) => claim(store)],
    ['claim', 'messages', (store) => claim(store)],
    ['settle', 'requests', async (store) => settle(store, await claim(store))],
    ['settle', 'deliveries_delivered', async (store) => settle(store, await claim(store))],
    ['nextDue', 'deliveries_waiting', (store) => store.nextDue({ nowMs, destinationIds: ['crm'] })],
    ['list', 'deliveries', (store) => store.list({ filter: {}, limit: 10 })],
    ['add', 'deliveries_listed', (store) => add(store, 'm_new')],
    ['retry', 'deliveries_failed', (store) => store.retry({ nowMs, filter: {}, limit: 10 })],
    ['audit', 'messages', (store) => store.audit()],
  ]

  test.each(calls)('names the file if %s reads the damaged %s', async (_name, what, call) => {
    await fillStore()
    await damagePageOf(what)
    const store = await openStore(path)
    await expect(call(store)).rejects.toMatchObject(damaged('database disk image is malformed'))
  })

  test('returns the deliveries of a claim that failed', async () => {
    const store = await openStore(path)
    const events = [event('m_1', 'ads', 'crm')]
    await store.add({ nowMs, seenSinceMs: 0, events, handOver: [] })
    // The second read fails, because SQLite refuses this limit.
    const shares = [1, NaN].map((deliveriesMax, index) => {
      const destinationId = ['ads', 'crm'][index]!
      return { destinationId, lane: 'first' as const, deliveriesMax, dueByMs: nowMs }
    })
    await expect(store.claim({ nowMs, shares })).rejects.toMatchObject({ code: 'store_unusable' })
    expect(await store.nextDue({ nowMs, destinationIds: ['ads'] })).toHaveLength(1)
    const claimed = await store.claim({ nowMs, shares: shares.slice(0, 1) })
    expect(claimed).toMatchObject([{ destinationId: 'ads', messageId: 'm_1' }])
  })
})

test('a damaged list of endpoints to skip counts as empty', async () => {
  const store = await openStore(path)
  await add(store, 'm_1', 'm_2')
  await change("UPDATE deliveries SET holds = 'x' WHERE id = 1")
  expect(await store.list({ filter: {}, limit: 10 })).toMatchObject([{ holds: [] }, { holds: [] }])
  expect(await claim(store)).toMatchObject([{ holds: [] }, { holds: [] }])
})

describe('a store in which the body of a delivery is missing', () => {
  const crm = { nowMs, destinationIds: ['crm'] }

  /** Opens a store with this many deliveries. The first ones have no body. */
  async function openStoreWithout(bodies: number, deliveries: number): Promise<SqliteStore> {
    const store = await openStore(path)
    await add(store, ...Array.from({ length: deliveries }, (_, index) => `m_${index + 1}`))
    await change(`DELETE FROM messages WHERE id <= ${bodies}`)
    return store
  }

  test('leases the others, however few are claimed at once', async () => {
    const store = await openStoreWithout(3, 5)
    const share = { destinationId: 'crm', lane: 'first', deliveriesMax: 1, dueByMs: nowMs } as const
    const messageIds: string[] = []
    for (let turn = 0; turn < 3; turn++) {
      const claimed = await store.claim({ nowMs, shares: [share] })
      messageIds.push(...claimed.map(({ messageId }) => messageId))
    }
    expect(messageIds).toEqual(['m_4', 'm_5'])
  })

  test('does not report it as due, keeps it pending, and counts it in the audit', async () => {
    const store = await openStoreWithout(1, 2)
    expect(await store.nextDue(crm)).toMatchObject([{ lane: 'first' }])
    const [delivery] = await claim(store)
    expect(await store.nextDue(crm)).toEqual([])
    await settle(store, [delivery!])
    expect(await store.nextDue(crm)).toEqual([])
    expect(await store.audit()).toMatchObject({
      ledger: { pending: 1, delivered: 1 },
      counted: { pending: 1, delivered: 1 },
      withoutBody: 1,
    })
    expect(await store.list({ filter: { states: ['pending'] }, limit: 10 })).toHaveLength(1)
  })

  test('leases it once its body is restored', async () => {
    const store = await openStoreWithout(1, 1)
    expect(await claim(store)).toEqual([])
    await change("INSERT INTO messages VALUES (1, 1, '{}')")
    expect(await claim(store)).toMatchObject([{ messageId: 'm_1', body: '{}' }])
  })
})

describe.skipIf(process.platform === 'win32')('a store whose files cannot grow', () => {
  test('asks for room, stores nothing of a failed add, and continues', async () => {
    const output = await runSource(new URL('use-little-room.ts', import.meta.url), [path])
    const refused = {
      name: 'StoreUnusableError',
      code: 'store_unusable',
      message: `Cannot use the store ${path}: disk I/O error`,
      hint: expect.stringContaining('Free up space on the disk') as string,
    }
    expect(JSON.parse(output)).toEqual([
      ['routed', 'routed'],
      refused,
      ['m_1', 'm_2'],
      refused,
      'settled',
      ['routed'],
    ])
    const listed = await (await openStore(path)).list({ filter: {}, limit: 10 })
    expect(listed.map(({ messageId, state }) => [messageId, state])).toEqual([
      ['m_3', 'pending'],
      ['m_2', 'delivered'],
      ['m_1', 'delivered'],
    ])
  })
})

test('isBusy recognises a lock, whichever method reads the rows', async () => {
  const [holder, reader] = [await openDatabase(path), await openDatabase(path)]
  holder.exec('CREATE TABLE notes (text TEXT)')
  const statement = reader.prepare('SELECT text FROM notes')
  holder.exec('BEGIN EXCLUSIVE')
  for (const read of [() => statement.all(), () => statement.get()]) {
    let error: unknown
    try {
      read()
    } catch (thrown) {
      error = thrown
    }
    expect(isBusy(error)).toBe(true)
  }
  holder.close()
  reader.close()
})
